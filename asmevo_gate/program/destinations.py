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
_WINDOW = 4
"""How many instructions behind s_getpc_b64 the offset may be added."""


def destinations(instructions: Sequence[MachineInstruction]) -> dict[int, int]:
    """For each instruction that names a place in the code, by its offset: the offset that it leads to.

    These are relative branches, and the additions of a constant to the program counter that :mod:`long_branch` follows.
    """
    found = {}
    for position, item in enumerate(instructions):
        match = _BRANCH.match(item.text)
        if match:
            # The 16-bit immediate counts dwords from the next instruction.
            found[item.offset] = item.offset + 4 + 4 * _signed(int(match[2], 0), 16)
            continue
        counter = _GETS_PC.match(item.text)
        if counter:
            behind = instructions[position + 1 : position + 1 + _WINDOW]
            found |= _added(counter["low"], item.offset + item.size, behind)
    return found


def _added(low: str, counter: int, behind: Sequence[MachineInstruction]) -> dict[int, int]:
    if behind and (match := _NEAR.match(behind[0].text)):
        return {behind[0].offset: counter + _signed(int(match["number"], 0), 32) + 4}
    for item in behind:
        match = _ON_COUNTER.match(item.text)
        if match and match["low"] == low:
            return {item.offset: counter + _signed(int(match["number"], 0), 32)}
    return {}


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
