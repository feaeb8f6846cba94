"""Files that the user names: the work tree against HEAD, and standard input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from asmevo_gate.changes.comparison import IGNORED_REASON, LFS_BASE_REASON, LFS_REASON
from asmevo_gate.changes.difference import renames
from asmevo_gate.changes.limits import Budget, check_size
from asmevo_gate.changes.model import Change, ChangeSet, Kind, Reader, Selection, Skipped, Version
from asmevo_gate.changes.objects import Objects, is_lfs_pointer
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.changes.repository import NoRepositoryError, Repository, decode_path
from asmevo_gate.changes.sides import Listing, WorkTree, nothing, read_file
from asmevo_gate.errors import GateError

WORK_TREE_NAME = "work tree"
NO_BASE_NAME = "nothing"


def named_files(paths: Iterable[str | Path], cwd: Path, selection: Selection | None = None) -> ChangeSet:
    """The named files as they are on disk, with their version in HEAD as base where there is one.

    A directory stands for the assembly files below it. A named file is taken whatever its name is. The
    repository is that around ``cwd``, else that around the first file; a file outside of it has no base.

    Raises:
        GateError: a file does not exist or cannot be read.
        LimitError: a file is too large.
    """
    selection = selection or Selection()
    names = [_possible(os.fspath(path)) for path in paths]
    repository = _repository_of(cwd, names)
    root = repository.root if repository else Path(os.path.realpath(cwd))
    places, skipped = _places(names, cwd, root, selection)
    objects = Objects(repository.directory if repository else cwd, selection.max_file_bytes)
    base = _Base(repository, objects, selection)
    outside = [place.parent for place in places.values() if not place.is_relative_to(root)]
    work_tree = WorkTree([root, *outside], selection.max_file_bytes)
    changes: list[Change] = []
    budget = Budget(selection.max_total_bytes)
    try:
        for path, place in places.items():
            if repository and place.is_relative_to(root) and not work_tree.contains(place):
                skipped.append(Skipped(path, "a symbolic link that leads out of the repository"))
                continue
            version = Version(path, read_file(place, path, selection.max_file_bytes))
            if is_lfs_pointer(version.data):
                skipped.append(Skipped(path, LFS_REASON))
            else:
                change = base.change(version)
                budget.spend(change)
                changes.append(change)
    finally:
        objects.close()
    return ChangeSet(
        tuple(changes),
        tuple(skipped),
        base.name,
        WORK_TREE_NAME,
        root,
        base.read,
        work_tree.read,
        objects.close,
    )


def standard_input(
    stream: BinaryIO, name: str = "<stdin>", cwd: Path | None = None, selection: Selection | None = None
) -> ChangeSet:
    """One file from a stream, without a base. Its includes are read below ``cwd`` (the current directory).

    Raises:
        LimitError: the stream is too long.
    """
    limit = (selection or Selection()).max_file_bytes
    data = stream.read(limit + 1)
    check_size(len(data), limit, name)
    root = cwd or Path.cwd()
    change = Change(name, None, "added", None, Version(name, data))
    return ChangeSet((change,), (), NO_BASE_NAME, "standard input", root, nothing, WorkTree([root], limit).read)


class _Base:
    """The versions of HEAD, as the base of files in the work tree."""

    def __init__(self, repository: Repository | None, objects: Objects, selection: Selection) -> None:
        self._repository = repository
        self._selection = selection
        self._moved: dict[str, str] | None = None
        self._head = repository.head() if repository else None
        self._listing = Listing(repository, objects, self._head) if repository and self._head else None
        self.name = "HEAD" if self._listing else NO_BASE_NAME
        self.read: Reader = self._listing.read if self._listing else nothing

    def change(self, head: Version) -> Change:
        """The change from the version in HEAD to ``head``."""
        old_path = None
        data = self.read(head.path) if not head.path.startswith("/") else None
        if data is None and (old_path := self._renames().get(head.path)) is not None:
            data = self.read(old_path)
        if data is None:
            return Change(head.path, None, "added", None, head)
        if is_lfs_pointer(data):
            return Change(head.path, None, "added", None, head, LFS_BASE_REASON)
        kind: Kind = "renamed" if old_path else "unchanged" if data == head.data else "modified"
        return Change(head.path, old_path, kind, Version(old_path or head.path, data), head)

    def _renames(self) -> dict[str, str]:
        """Renames that are staged; git is asked once, and only for a file that HEAD does not have."""
        if self._moved is None:
            self._moved = {}
            if self._repository and self._head:
                self._moved = renames(self._repository, self._head, None, patterns(self._selection.assembly))
        return self._moved


def _repository_of(cwd: Path, names: Sequence[str]) -> Repository | None:
    """The repository around ``cwd``, else around the first file; ``None`` when there is none."""
    first = cwd / names[0] if names else cwd
    for directory in (cwd, first if _is_directory(first) else first.parent):
        if not _is_directory(directory):
            continue
        try:
            return Repository(directory)
        except NoRepositoryError:
            continue
    return None


def _places(names: Sequence[str], cwd: Path, root: Path, selection: Selection) -> tuple[dict[str, Path], list[Skipped]]:
    """Where the files are, by the path that they are reported under."""
    ignore = patterns(selection.ignore)
    places: dict[str, Path] = {}
    skipped: list[Skipped] = []
    for name in names:
        named = cwd / name
        for place in _below(named, selection) if _is_directory(named) else (named,):
            real = Path(os.path.realpath(place.parent)) / place.name
            inside = real.is_relative_to(root)
            path = decode_path(os.fsencode((real.relative_to(root) if inside else real).as_posix()))
            if ignore.matches(path):
                skipped.append(Skipped(path, IGNORED_REASON))
            else:
                places[path] = real
    return places, skipped


def _possible(name: str) -> str:
    """The name, if a file can have it."""
    try:
        raw = os.fsencode(name)
    except UnicodeEncodeError:
        raw = b"\0"
    if b"\0" in raw:
        raise GateError(f"{name!r} is no file name", "check the name")
    return name


def _is_directory(path: Path) -> bool:
    """Whether a path is a directory; what cannot be a path at all is none, and fails when it is read."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _below(directory: Path, selection: Selection) -> Iterator[Path]:
    """The assembly files below a directory, in order; links to directories are not followed."""
    assembly = patterns(selection.assembly)
    for folder, folders, files in os.walk(directory, onerror=_raise):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            place = Path(folder) / name
            if assembly.matches(place.relative_to(directory).as_posix()):
                yield place


def _raise(error: OSError) -> None:
    raise GateError(f"cannot be read: {error.strerror}", file=str(error.filename)) from error
