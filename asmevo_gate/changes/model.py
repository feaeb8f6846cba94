"""What changed: files with their bytes at base and at head.

The classes are named tuples and plain classes, because the hook's start must not pay for ``dataclasses`` or
``msgspec`` before there is an AMDGPU file to look at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple

from asmevo_gate.changes.patterns import ASSEMBLY

Side = Literal["base", "head"]
Kind = Literal["added", "modified", "deleted", "renamed", "mode", "unchanged"]

MEBIBYTE = 1 << 20


class Selection(NamedTuple):
    """Which files are looked at, and how large they may be. Globs as in
    :class:`~asmevo_gate.changes.patterns.Patterns`."""

    assembly: tuple[str, ...] = ASSEMBLY
    ignore: tuple[str, ...] = ()
    max_file_bytes: int = 64 * MEBIBYTE
    max_total_bytes: int = 1024 * MEBIBYTE


class Version(NamedTuple):
    """One file at one side. Bytes of ``path`` that are not UTF-8 are lone surrogates
    (``surrogateescape``)."""

    path: str
    data: bytes


class Change(NamedTuple):
    """One file that the gate looks at.

    ``kind`` is ``unchanged`` for a file whose own bytes are equal on both sides and which is looked at all
    the same, because a file that it includes changed or because it was asked for. A copy is ``added``: its
    kernels are new. ``base`` is ``None`` for a new file, ``head`` for a deleted one.
    """

    path: str
    old_path: str | None
    kind: Kind
    base: Version | None
    head: Version | None
    reason: str = ""
    """Why the file is in the list or lacks a side, where ``kind`` does not say it."""


class Skipped(NamedTuple):
    """A changed file that is not looked at, and why."""

    path: str
    reason: str


Reader = Callable[[str], "bytes | None"]


class ChangeSet:
    """The files of one run.

    ``base_name`` and ``head_name`` say what is compared, in words for a report. ``root`` is the top of the
    work tree that paths are relative to (outside a repository: the folder that they are relative to).
    """

    __slots__ = ("_close", "_read_base", "_read_head", "base_name", "changes", "head_name", "root", "skipped")

    def __init__(
        self,
        changes: tuple[Change, ...],
        skipped: tuple[Skipped, ...],
        base_name: str,
        head_name: str,
        root: Path,
        read_base: Reader,
        read_head: Reader,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.changes = changes
        self.skipped = skipped
        self.base_name = base_name
        self.head_name = head_name
        self.root = root
        self._read_base = read_base
        self._read_head = read_head
        self._close = close

    def read(self, side: Side, path: str) -> bytes | None:
        """The bytes of any file at one side, for ``.include``. ``path`` is relative to ``root``.

        Symbolic links are followed inside the root only. ``None``: there is no such regular file at that
        side, or the path leads out of the root.

        Raises:
            LimitError: the file is larger than the limit.
            GateError: the file is there and cannot be read.
        """
        return self._read_base(path) if side == "base" else self._read_head(path)

    def close(self) -> None:
        """End the git process behind ``read``; it is started again when needed."""
        self._close()

    def __enter__(self) -> ChangeSet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
