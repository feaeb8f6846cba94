"""The files that the settings name: a baseline and constraint files, from disk or from the commit that rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from asmevo_gate.constraints.files import read_file
from asmevo_gate.constraints.model import ConstraintFile
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.baseline import Baseline, parse_baseline, read_baseline
from asmevo_gate.gate.settings import Settings

Reader = Callable[[str], "bytes | None"]


class ProjectFiles(msgspec.Struct, frozen=True):
    """What the files hold. ``constraints`` are by path, in the order in which they are laid over the shipped ones."""

    baseline: Baseline | None = None
    constraints: Mapping[str, ConstraintFile] = {}


def read_project_files(settings: Settings, read: Reader | None = None, baseline: Path | None = None) -> ProjectFiles:
    """The files of the settings. ``read`` gives a file by its path from the root of the repository (``None``: from
    disk). ``baseline`` names another baseline than the settings do; without ``read`` its path counts from the
    current directory.

    Raises:
        UsageError: a file is missing or malformed; it never counts as an empty one.
    """
    return ProjectFiles(_baseline(settings, read, baseline), _constraints(settings, read))


def _baseline(settings: Settings, read: Reader | None, named: Path | None) -> Baseline | None:
    if named is not None and read is None:
        return read_baseline(named)
    if named is not None:
        path = named.as_posix()
    elif settings.baseline is not None:
        path = settings.baseline.relative_to(settings.root).as_posix()
    else:
        return None
    return parse_baseline(_content(settings, path, "baseline", read), path)


def _constraints(settings: Settings, read: Reader | None) -> dict[str, ConstraintFile]:
    return {path: read_file(_content(settings, path, "constraints", read), path) for path in settings.constraints}


def _content(settings: Settings, path: str, key: str, read: Reader | None) -> bytes:
    try:
        content = read(path) if read else (settings.root / path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
    else:
        if content is not None:
            return content
        reason = "there is no such file in the commit that the settings are read from"
    line = settings.lines.get((key,))
    raise UsageError(f"{key}: '{path}' cannot be read: {reason}", "correct the path", settings.file, line)
