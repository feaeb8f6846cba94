"""What git says differs between two sides: its raw diff format, parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from asmevo_gate.changes.patterns import Patterns
from asmevo_gate.changes.repository import Repository, decode_path
from asmevo_gate.changes.sides import Entry
from asmevo_gate.errors import GateError

_HEAD = rb":[0-7]{6} [0-7]{6} [0-9a-f]{40,64} [0-9a-f]{40,64} [A-Z][0-9]*"
_RAW = ("--raw", "-z", "--no-abbrev", "--ignore-submodules=none")
# Above this many candidates git compares no pairs, and a renamed file is an added one.
_RENAME_LIMIT = "-l2000"


class Difference(NamedTuple):
    """One path that differs. ``old`` and ``new`` are ``None`` where the path does not exist."""

    status: str
    path: str
    old: Entry | None
    new: Entry | None


def differences(repository: Repository, base: str, head: str | None) -> list[Difference]:
    """Every path that differs between the tree ``base`` and the commit ``head`` (``None``: the index).

    Files that are only announced (``git add --intent-to-add``) are not in the index yet.
    """
    out = repository.run(*_command(base, head), *_RAW, "--no-renames", *_sides(base, head), "--")
    return [_parse(head_field, path) for head_field, path in _records(out, 2)]


def renames(repository: Repository, base: str, head: str | None, assembly: Patterns) -> dict[str, str]:
    """Old path by new path of the assembly files that git takes for renamed. Copies are not among them."""
    command = (
        *_command(base, head),
        *_RAW,
        "-M",
        _RENAME_LIMIT,
        "--diff-filter=R",
        *_sides(base, head),
        "--",
    )
    records = _records(repository.run(*command, *assembly.pathspecs()), 3)
    return {decode_path(new): decode_path(old) for _, old, new in records}


def _command(base: str, head: str | None) -> Sequence[str]:
    if head is None:
        return "diff-index", "--cached", "--ita-invisible-in-index"
    return "diff-tree", "-r"


def _sides(base: str, head: str | None) -> Sequence[str]:
    return (base,) if head is None else (base, head)


def _records(out: bytes, fields: int) -> list[tuple[bytes, ...]]:
    """The records of an answer, each of so many fields that end with NUL.

    Raises:
        GateError: a record is not whole: files would be missing.
    """
    found = out.split(b"\0")
    if found.pop() or len(found) % fields:
        raise _unreadable(out[-80:])
    records = list(zip(*(found[start::fields] for start in range(fields)), strict=True))
    for record in records:
        if not re.fullmatch(_HEAD, record[0]) or not all(record[1:]):
            raise _unreadable(record[0])
    return records


def _unreadable(field: bytes) -> GateError:
    return GateError(f"git's list of changed files cannot be read at {field[:80]!r}", "update git, or check it by hand")


def _parse(field: bytes, path: bytes) -> Difference:
    """One record: ``:100644 100755 <id> <id> M`` and its path."""
    old_mode, new_mode, old_id, new_id, status = field.decode("ascii").removeprefix(":").split(" ")
    return Difference(status[0], decode_path(path), _entry(old_mode, old_id), _entry(new_mode, new_id))


def _entry(mode: str, identifier: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, identifier)
