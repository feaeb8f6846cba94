"""Where the jumps of disassembled code go: relative branches, and addresses computed from the program counter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class MachineInstruction(NamedTuple):
    """One instruction of a code section: offset in the section and size in bytes."""

    offset: int
    size: int
    text: str


_BRANCH = re.compile(r"(s_(?:c?branch\w*|call_\w+|subvector_loop_\w+)\b(?:.*,)?\s*)(-?\d+|0x[0-9a-f]+)$")
_GETS_PC = re.compile(r"s_get_?pc_[bi]64 s\[(?P<low>\d+):\d+\]$")
_NEAR = re.compile(r"(?P<head>s_add_(?:co_)?[iu]32 s\d+, )(?P<number>-?\d+|0x[0-9a-f]+)(?P<tail>, 4)$")
"""An offset in a register of its own, directly behind s_getpc_b64 (Tensile's generator)."""
_ON_COUNTER = re.compile(r"(?P<head>s_add_(?:co_)?u32 s(?P<low>\d+), s(?P=low), )(?P<number>-?\d+|0x[0-9a-f]+)$")
"""An offset that is added to the counter itself (LLVM)."""
WINDOW = 4
"""How many instructions behind s_getpc_b64 the offset may be added."""


def destinations(instructions: Sequence[MachineInstruction]) -> dict[int, int]:
    """For each instruction that names a place in the code, by its offset: the offset that it leads to.

    These are relative branches, and the additions of a constant to the program counter that :mod:`code_addresses`
    follows.
    """
    found = {}
    for position, item in enumerate(instructions):
        match = _BRANCH.match(item.text)
        if match:
            # The 16-bit immediate counts dwords from the next instruction.
            found[item.offset] = item.offset + 4 + 4 * _signed(int(match[2], 0), 16)
            continue
        behind = instructions[position + 1 : position + 1 + WINDOW]
        added = added_number(item.text, [one.text for one in behind]) if _GETS_PC.match(item.text) else None
        if added:
            found[behind[added[0]].offset] = item.offset + item.size + added[1]
    return found


def added_number(text: str, behind: Sequence[str]) -> tuple[int, int] | None:
    """What is added to the program counter that an instruction reads: which of the next :data:`WINDOW` instructions
    names it as a number, and the number. ``None`` where none does."""
    counter = _GETS_PC.match(text)
    if not counter:
        return None
    if behind and (match := _NEAR.match(behind[0])):
        return 0, _signed(int(match["number"], 0), 32) + 4
    for place, one in enumerate(behind):
        match = _ON_COUNTER.match(one)
        if match and match["low"] == counter["low"]:
            return place, _signed(int(match["number"], 0), 32)
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def with_label(item: MachineInstruction, label: str) -> str:
    """The text of an instruction of :func:`destinations` with a label in place of the number."""
    if _BRANCH.match(item.text):
        return _BRANCH.sub(lambda match: f"{match[1]}{label}", item.text)
    if match := _NEAR.match(item.text):
        return f"{match['head']}{label}{match['tail']}"
    match = _ON_COUNTER.match(item.text)
    return f"{match['head']}{label}@rel32@lo+4" if match else item.text
