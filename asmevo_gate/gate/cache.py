"""Results of files by content, so that a file that did not change costs nothing.

An entry is one file: a magic number, the SHA-256 of the rest, and MessagePack of the result with the digests of what
the file included. Its name is the SHA-256 of everything else that the result depends on (:class:`Keys`): another
version of the gate, of its data or of a tool finds nothing. What does not check out is no entry. Files appear under
their names whole, so that any number of processes may share a cache.

Whoever can write to a cache can decide what it says: share one between jobs that trust each other only.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from asmevo_gate.changes.model import Side
from asmevo_gate.errors import UsageError
from asmevo_gate.file_writing import replace_file
from asmevo_gate.gate.change_check import FileResult, SideFiles
from asmevo_gate.gate.environment import code_version, tools_version
from asmevo_gate.gate.file_task import CANNOT_BE_SENT, Setup, SideFile, Task, encode, side_file

MAGIC = b"asmevo1\n"
LIMIT_BYTES = 512 << 20
"""Size of a cache by default, in bytes."""
SWEEP_SECONDS = 600
"""A cache is measured at most so often."""
_OLD_TEMPORARY_SECONDS = 3600
_USED_SECONDS = 3600
"""The time of last use of an entry is right to so many seconds."""
_DIGEST = 32


class _Included(msgspec.Struct, frozen=True):
    """A file that the result depends on beside the checked one."""

    side: Side
    path: str
    digest: str


class _Entry(msgspec.Struct, frozen=True):
    """The content of one file of the cache."""

    key: str
    included: tuple[_Included, ...]
    result: FileResult


def cache_directory(environment: dict[str, str] | os._Environ[str] = os.environ) -> Path:
    """``$ASMEVO_CACHE``, else ``asmevo-gate`` in the user's directory for caches (``$XDG_CACHE_HOME``, ``~/.cache``,
    ``%LOCALAPPDATA%``)."""
    if named := environment.get("ASMEVO_CACHE"):
        return Path(named)
    parent = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(parent) if parent else Path("~/.cache").expanduser()) / "asmevo-gate"


def cache_limit(environment: dict[str, str] | os._Environ[str] = os.environ) -> int:
    """``$ASMEVO_CACHE_MIB`` in bytes, else ``LIMIT_BYTES``.

    Raises:
        UsageError: the variable is no number.
    """
    text = environment.get("ASMEVO_CACHE_MIB", "")
    if text and not (text.isascii() and text.isdigit()):
        raise UsageError(f"ASMEVO_CACHE_MIB is '{text[:40]}'", "give the size of the cache as a number of MiB")
    return int(text) << 20 if text else LIMIT_BYTES


class Keys:
    """The names of results: SHA-256 of all that the result of a task depends on but the files that it includes."""

    def __init__(self, setup: Setup) -> None:
        self._run = hashlib.sha256(MAGIC)
        for part in (code_version().encode(), tools_version().encode(), encode(setup)):
            _add(self._run, part)

    def key(self, task: Task) -> str:
        """The name of the result of a task.

        Raises:
            UnicodeEncodeError, OverflowError: the task cannot be a message, and so not be cached.
        """
        digest = self._run.copy()
        _add(digest, encode(msgspec.structs.replace(task, seconds=0, files=())))
        return digest.hexdigest()


def _add(digest: hashlib._Hash, part: bytes) -> None:
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


class Cache:
    """The entries of one directory. A cache that cannot be read or written is as good as none: ``warn`` gets one line,
    and the run goes on without."""

    def __init__(self, directory: Path, warn: Callable[[str], None], limit: int = LIMIT_BYTES) -> None:
        self.directory = directory
        self.hits = 0
        self._limit = limit
        self._warn = warn
        self._written = 0
        self._usable = True

    def get(self, key: str, files: SideFiles) -> FileResult | None:
        """The result under a key, if the files that it was made from are still the same."""
        place = self._place(key)
        try:
            with place.open("rb") as file:
                content = file.read()
                used = os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up("read", error)
            return None
        entry = _decoded(content)
        if entry is None or entry.key != key:
            return None
        for one in entry.included:
            if side_file(files, one.side, one.path).digest != one.digest:
                return None
        if time.time() - used > _USED_SECONDS:
            with suppress(OSError):  # how lately it was used only matters to what is removed first
                os.utime(place)
        self.hits += 1
        return entry.result

    def put(self, key: str, files: Sequence[SideFile], result: FileResult) -> None:
        """Keep a result under a key."""
        if not self._usable:
            return
        included = tuple(_Included(file.side, file.path, file.digest) for file in files)
        try:
            payload = msgspec.msgpack.encode(_Entry(key, included, result))
        except CANNOT_BE_SENT:
            return
        content = MAGIC + hashlib.sha256(payload).digest() + payload
        place = self._place(key)
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(place, content, durable=False)
        except OSError as error:
            self._give_up("written", error)
        else:
            self._written += len(content)

    def close(self) -> None:
        """Remove what was not used for longest where the cache has become too large."""
        if not self._written or not self._usable:
            return
        stamp = self.directory / "swept"
        try:
            lately = time.time() - stamp.stat().st_mtime < SWEEP_SECONDS
        except OSError:
            lately = False
        if lately and self._written < self._limit // 16:
            return
        try:
            self._sweep()
            stamp.touch()
        except OSError as error:
            self._give_up("cleaned", error)

    def _sweep(self) -> None:
        now = time.time()
        kept: list[tuple[float, int, Path]] = []
        for place, status in self._entries():
            if place.suffix == ".tmp":
                if now - status.st_mtime > _OLD_TEMPORARY_SECONDS:
                    place.unlink(missing_ok=True)
            else:
                kept.append((status.st_mtime, status.st_size, place))
        total = sum(size for _, size, _ in kept)
        if total <= self._limit:
            return
        for _, size, place in sorted(kept):
            place.unlink(missing_ok=True)
            total -= size
            if total <= self._limit * 3 // 4:
                return

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder in os.scandir(self.directory):
            if len(folder.name) == 2 and folder.is_dir(follow_symlinks=False):
                for entry in os.scandir(folder.path):
                    with suppress(FileNotFoundError):  # another process cleans too
                        yield Path(entry.path), entry.stat(follow_symlinks=False)

    def _place(self, key: str) -> Path:
        return self.directory / key[:2] / key

    def _give_up(self, verb: str, error: OSError) -> None:
        if self._usable:
            self._warn(
                f"the cache in {self.directory} cannot be {verb}: {error.strerror or error}; going on without it"
            )
        self._usable = False


def _decoded(content: bytes) -> _Entry | None:
    """The entry in the bytes of a file, ``None`` for a torn or foreign one."""
    start = len(MAGIC) + _DIGEST
    if content[: len(MAGIC)] != MAGIC or hashlib.sha256(content[start:]).digest() != content[len(MAGIC) : start]:
        return None
    try:
        return msgspec.msgpack.decode(content[start:], type=_Entry)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
