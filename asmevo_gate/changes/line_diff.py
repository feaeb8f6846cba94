"""Which line at base is which line at head: what a forge needs to put a comment on a line of a diff."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.changes.repository import Repository, encode_path

CONTEXT = 3
"""Unchanged lines that a forge shows around a change."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DiffLine(NamedTuple):
    """A line at head. ``old`` is the line at base that it is, or for an added line the one that would come next there
    (0 in a new file). ``shown``: the diff shows the line. Lines are 1-based."""

    new: int
    old: int
    added: bool
    shown: bool


class LineDiff:
    """The difference of one file between two commits, from git's unified diff of it."""

    def __init__(self, diff: bytes, old_path: str, new_path: str) -> None:
        self.old_path = old_path
        self.new_path = new_path
        self._shown: dict[int, DiffLine] = {}
        self._offsets: list[tuple[int, int]] = [(1, 0)]
        """From this new line on, old = new - offset (outside of the hunks)."""
        self._parse(diff)

    def line(self, new: int) -> DiffLine:
        """The line ``new`` of head."""
        if new in self._shown:
            return self._shown[new]
        offset = next(offset for start, offset in reversed(self._offsets) if start <= new)
        return DiffLine(new, new - offset, added=False, shown=False)

    def _parse(self, diff: bytes) -> None:
        old = new = 0
        left_old = left_new = 0
        for line in diff.split(b"\n"):
            if left_old <= 0 and left_new <= 0:
                if match := _HUNK.match(line):
                    old, new = int(match[1]), int(match[3])
                    left_old, left_new = int(match[2] or 1), int(match[4] or 1)
                continue
            sign = line[:1]
            if sign == b"\\":
                continue
            if sign in (b"+", b" "):
                self._shown[new] = DiffLine(new, old, added=sign == b"+", shown=True)
                new += 1
                left_new -= 1
            if sign in (b"-", b" "):
                old += 1
                left_old -= 1
            if left_old <= 0 and left_new <= 0:
                self._offsets.append((new, new - old))


class DiffReader:
    """Line diffs between two commits of the repository around ``cwd``.

    Raises:
        GateError: the clone lacks one of the commits.
    """

    def __init__(self, cwd: Path, base: str, head: str, checked: str) -> None:
        self._repository = Repository(cwd)
        self._base = self._repository.commit(base, "base of the merge request")
        self._head = self._repository.commit(head, "head of the merge request")
        self._checked = self._repository.commit(checked, "head")

    def read(self, path: str, old_path: str | None = None) -> LineDiff | None:
        """The difference of a file; ``None`` where no comment can be put on the lines that were checked: the file does
        not differ between the two commits, or is another one in the commit that was checked."""
        new = self._blob(self._head, path)
        if new is None or new != self._blob(self._checked, path):
            return None
        before = old_path or path
        old = self._blob(self._base, before)
        if old == new and before == path:
            return None
        if old is None:
            before, old = path, self._repository.run("hash-object", "-t", "blob", "-w", "--stdin").decode().strip()
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--text", f"-U{CONTEXT}")
        return LineDiff(self._repository.run("diff", *options, old, new, "--"), before, path)

    def _blob(self, commit: str, path: str) -> str | None:
        listed = self._repository.run("ls-tree", "-z", "--full-tree", commit, "--", f":(literal,top){path}")
        for record in listed.split(b"\0"):
            fields, _, name = record.partition(b"\t")
            if name == encode_path(path) and fields.split()[1:2] == [b"blob"]:
                return fields.split()[2].decode("ascii")
        return None
