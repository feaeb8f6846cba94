"""All files of one side of a comparison, for ``.include``: a tree, the index, or the work tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.changes.limits import check_size
from asmevo_gate.changes.objects import Objects
from asmevo_gate.changes.repository import Repository, decode_path
from asmevo_gate.errors import GateError

SYMBOLIC_LINK = "120000"
SUBMODULE = "160000"
_LINK_HOPS = 8


class Entry(NamedTuple):
    """A file in a tree or in the index."""

    mode: str
    identifier: str

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode.startswith("100")


class Listing:
    """The files of a commit, or of the index when ``commit`` is ``None``; listed when first asked for."""

    def __init__(self, repository: Repository, objects: Objects, commit: str | None) -> None:
        self._repository = repository
        self._objects = objects
        self._commit = commit
        self._entries: dict[str, Entry] | None = None

    def entries(self) -> dict[str, Entry]:
        """Every file by path."""
        if self._entries is None:
            self._entries = self._list()
        return self._entries

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; links are followed inside the tree. ``None``: there is none."""
        resolved = self._resolve(path)
        entry = self.entries().get(resolved) if resolved is not None else None
        if resolved is None or entry is None or not entry.is_file:
            return None
        return self._objects.read(entry.identifier, resolved)

    def _list(self) -> dict[str, Entry]:
        if self._commit is not None:
            out = self._repository.run("ls-tree", "-r", "-z", "--full-tree", self._commit)
            split = _records(out)
            return {decode_path(path): Entry(h[0].decode(), h[2].decode()) for h, path in split}
        out = self._repository.run("ls-files", "-s", "-z", "--full-name", "--", ":(top)")
        split = _records(out)
        return {decode_path(path): Entry(h[0].decode(), h[1].decode()) for h, path in split if h[2] == b"0"}

    def _resolve(self, path: str) -> str | None:
        """The path without ``.``, ``..`` and symbolic links; ``None`` when it leads out of the tree."""
        entries = self.entries()
        pending = path.split("/")[::-1]
        if path.startswith("/"):
            return None
        done: list[str] = []
        hops = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            done.append(part)
            here = "/".join(done)
            entry = entries.get(here)
            if entry is None or entry.mode != SYMBOLIC_LINK:
                continue
            hops += 1
            target = decode_path(self._objects.read(entry.identifier, here))
            if hops > _LINK_HOPS or target.startswith("/"):
                return None
            done.pop()
            pending.extend(target.split("/")[::-1])
        return "/".join(done)


class WorkTree:
    """Files on disk under some directories, the first of which paths are relative to."""

    def __init__(self, roots: Sequence[Path], limit: int) -> None:
        self._root = roots[0]
        self._allowed = [Path(os.path.realpath(root)) for root in roots]
        self._limit = limit

    def contains(self, path: Path) -> bool:
        """Whether a path, with its links followed, stays inside the directories."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(root) for root in self._allowed)

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file; ``None`` when there is none inside the directories."""
        place = self._root / path
        try:
            if not self.contains(place) or not place.is_file():
                return None
        except (OSError, ValueError):  # too long, or no name that a file can have
            return None
        return read_file(place, path, self._limit)


def _records(out: bytes) -> list[tuple[list[bytes], bytes]]:
    """(fields, path) of each record of ``ls-tree -z`` or ``ls-files -s -z``.

    Raises:
        GateError: a record is not whole: files would be missing.
    """
    found = out.split(b"\0")
    records = [(head.split(), path) for head, _, path in (record.partition(b"\t") for record in found[:-1])]
    if found[-1] or not all(path and len(fields) == 3 and b"".join(fields).isalnum() for fields, path in records):
        raise GateError("git's list of files cannot be read", "update git, or see what git ls-files -s -z writes")
    return records


def nothing(path: str) -> bytes | None:
    """The side that has no files."""
    return None


def read_file(place: Path, name: str, limit: int) -> bytes:
    """The bytes of a file on disk.

    Raises:
        LimitError: it is larger than ``limit`` bytes.
        GateError: it does not exist, is no regular file, or cannot be read.
    """
    try:
        with open(place, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise GateError("not a regular file", "name a file or a directory", file=name)
            check_size(status.st_size, limit, name)
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise GateError("no such file", "check the name", file=name) from error
    except (OSError, ValueError) as error:
        raise GateError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=name) from error
    check_size(len(data), limit, name)
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    """Open so that a named pipe does not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
