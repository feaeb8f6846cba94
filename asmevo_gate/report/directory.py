"""All reports of a run in one directory, under names that the CI templates know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from asmevo_gate.errors import GateError
from asmevo_gate.report.formats import FORMATS
from asmevo_gate.report.writing import Output, write_text

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
    """Remove the reports and patches of an earlier run, so that a run that fails leaves none that look like its own.
    Other files stay.

    Raises:
        GateError: a file cannot be removed, or the directory is a symbolic link.
    """
    refuse_links(directory / PATCHES, Path.cwd())
    patches = sorted((directory / PATCHES).glob("*.patch")) if (directory / PATCHES).is_dir() else []
    _remove([*(directory / name for name in NAMES.values()), *patches])


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
