"""All reports of a run in one directory, under names that the CI templates know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.file_writing import write_text
from asmevo_gate.report.formats import FORMATS
from asmevo_gate.report.picture_files import FILE_PATTERN, picture_directory
from asmevo_gate.report.writing import Output

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES = {
    "json": "asmevo.json",
    "markdown": "asmevo.md",
    "junit": "junit.xml",
    "gitlab_junit": "gitlab-junit.xml",
    "sarif": "asmevo.sarif",
    "gitlab_code_quality": "gl-code-quality-report.json",
    "gitlab_metrics": "metrics.txt",
    "html": "asmevo.html",
}
PATCHES = "patches"


def directory_outputs(directory: Path) -> list[Output]:
    """Every format that is a file, in ``directory``."""
    return [Output(name, str(directory / file)) for name, file in NAMES.items() if name in FORMATS]


def pictures_address(address: str) -> str:
    """Where the pictures are when the directory is seen at ``address``.

    Raises:
        UsageError: it is no web address that a Markdown image can hold.
    """
    from asmevo_gate.report.markdown import is_address

    if not is_address(address):
        raise UsageError(f"--pictures-at {address!r} is no web address", "for example https://pages.example/reports/7")
    return f"{address.rstrip('/')}/{_pictures(Path()).name}/"


def write_patches(directory: Path, patches: Iterable[str]) -> None:
    """Patches, one a file, numbered in the order in which they apply.

    Raises:
        GateError: a file cannot be written.
    """
    for number, patch in enumerate(patches, 1):
        write_text(directory / PATCHES / f"{number:04}.patch", patch)


def refuse_links(path: Path, root: Path) -> None:
    """Refuse a place below ``root`` that a symbolic link leads to: the checkout of a CI job has links that the change
    under check may have brought, and a report must not be written where they point.

    Raises:
        GateError: a directory on the way from ``root`` to ``path`` is a symbolic link.
    """
    place = Path(os.path.normpath(root / path))
    if not place.is_relative_to(root):
        return
    for inner in (place, *place.parents):
        if inner == root:
            return
        if inner.is_symlink():
            raise GateError("reports are not written through a symbolic link", "remove the link", file=str(inner))


def clear_directory(directory: Path) -> None:
    """Remove the reports, pictures and patches of an earlier run, so that a run that fails leaves none that look like
    its own. Other files stay.

    Raises:
        GateError: a file cannot be removed, or the directory is a symbolic link.
    """
    old = [directory / name for name in NAMES.values()]
    for inner, pattern in ((directory / PATCHES, "*.patch"), (_pictures(directory), FILE_PATTERN)):
        refuse_links(inner, Path.cwd())
        old += sorted(inner.glob(pattern)) if inner.is_dir() else []
    _remove(old)


def _pictures(directory: Path) -> Path:
    return picture_directory(directory / NAMES["markdown"])


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except NotADirectoryError:
            continue
        except OSError as error:
            raise GateError(
                f"an old report cannot be removed: {error.strerror}", "remove it", file=str(file)
            ) from error
