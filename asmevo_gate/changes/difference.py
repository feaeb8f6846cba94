"""What git says differs between two sides: its raw diff format, parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from asmevo_gate.changes.patterns import Patterns
from asmevo_gate.changes.repository import Repository, decode_path
from asmevo_gate.changes.sides import Entry

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
    records = repository.run(*_command(base, head), *_RAW, "--no-renames", *_sides(base, head), "--").split(b"\0")
    pairs = zip(records[0::2], records[1::2], strict=False)
    return [_parse(head_field, path) for head_field, path in pairs if head_field]


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
    records = repository.run(*command, *assembly.pathspecs()).split(b"\0")
    triples = zip(records[0::3], records[1::3], records[2::3], strict=False)
    return {decode_path(new): decode_path(old) for head_field, old, new in triples if head_field}


def _command(base: str, head: str | None) -> Sequence[str]:
    if head is None:
        return "diff-index", "--cached", "--ita-invisible-in-index"
    return "diff-tree", "-r"


def _sides(base: str, head: str | None) -> Sequence[str]:
    return (base,) if head is None else (base, head)


def _parse(field: bytes, path: bytes) -> Difference:
    """One record: ``:100644 100755 <id> <id> M`` and its path."""
    old_mode, new_mode, old_id, new_id, status = field.decode("ascii").removeprefix(":").split(" ")
    return Difference(status[0], decode_path(path), _entry(old_mode, old_id), _entry(new_mode, new_id))


def _entry(mode: str, identifier: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, identifier)
