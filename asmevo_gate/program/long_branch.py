"""Targets of jumps through registers that a function computes itself from its program counter.

Two shapes are followed. LLVM's, for a branch out of range (BranchRelaxation)::

    s_getpc_b64 P;  s_add_u32 P.lo, P.lo, (LABEL-after)&mask;  s_addc_u32 P.hi, P.hi, ...;  s_setpc_b64 P

and that of Tensile's generator, which makes the offset in a register of its own::

    s_getpc_b64 P;  s_add_i32 T, LABEL, 4
    s_add_u32 P.lo, P.lo, T;  s_addc_u32 P.hi, P.hi, 0                      (offset not negative)
    s_abs_i32 T, T;  s_sub_u32 P.lo, P.lo, T;  s_subb_u32 P.hi, P.hi, 0     (offset negative)

A label as a plain operand is a literal relative to its own place, 4 bytes into the instruction
(AMDGPUMCCodeEmitter), hence the 4 and the place directly behind s_getpc_b64.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.program.model import Instruction

GETS_PC = frozenset(("s_getpc_b64", "s_get_pc_i64"))
_ADDS = frozenset(("s_add_u32", "s_add_i32", "s_add_u64", "s_add_nc_u64", "s_add_co_u32", "s_add_co_i32"))
_SUBTRACTS = frozenset(("s_sub_u32", "s_sub_co_u32"))
_WINDOW = 16
"""How many instructions back the s_getpc_b64 of a jump is looked for."""
_DIFFERENCE = re.compile(r"(?P<label>[A-Za-z_.$][\w.$]*)\s*(?:@\w+(?:@\w+)?|-)")

_PC, _OFFSET, _NEAR, _TARGET = "counter", "offset from it", "offset from the literal", "target"
_Value = tuple[str, str]
"""What a register holds, and of which label."""


class LongBranches:
    """The long branches of one function."""

    def __init__(self, instructions: tuple[Instruction, ...], labels: Mapping[str, int]) -> None:
        self._instructions = instructions
        self._labels = labels
        self._jumps_to: dict[int, list[int]] | None = None
        self._link_registers: list[int] | None = None

    def target(self, last: int) -> int | None:
        """The index that the indirect jump ``instructions[last]`` goes to, or ``None`` when it is not known."""
        return self._target_and_way(last)[0]

    def returns(self, last: int) -> bool:
        """Whether the indirect jump ``instructions[last]`` goes back behind a call of this function: its register pair
        is that of a call, and nothing else writes it but addresses of long branches."""
        jump = self._instructions[last].decoded
        if self._link_registers is None:
            self._link_registers = self._untouched_link_registers()
        return jump is not None and bool(jump.operands) and jump.operands[-1].mask in self._link_registers

    def _untouched_link_registers(self) -> list[int]:
        calls = [one.decoded for one in self._instructions if one.decoded is not None and one.decoded.of(Op.CALL)]
        pairs = {decoded.operands[0].mask for decoded in calls if decoded.operands}
        if not pairs:
            return []
        of_long_branches: set[int] = set()
        for instruction in self._instructions:
            if instruction.decoded is not None and instruction.decoded.of(Op.INDIRECT):
                target, way = self._target_and_way(instruction.index)
                of_long_branches.update(way if target is not None else ())
        for instruction in self._instructions:
            decoded = instruction.decoded
            if decoded is None or not (decoded.of(Op.CALL) or instruction.index in of_long_branches):
                pairs = {pair for pair in pairs if decoded is not None and not decoded.writes & pair}
        return list(pairs)

    def _target_and_way(self, last: int) -> tuple[int | None, list[int]]:
        jump = self._instructions[last].decoded
        if jump is None or not jump.operands:
            return None, []
        pair = jump.operands[-1]
        values: dict[int, _Value] = {}
        way = self._way_from_getpc(last, pair.mask)
        for position, index in enumerate(way):
            decoded = self._instructions[index].decoded
            assert decoded is not None
            self._follow(decoded, position, values)
        kind, label = values.get(pair.start, ("", ""))
        return (self._labels.get(label) if kind == _TARGET else None), way

    def _way_from_getpc(self, last: int, pair: int) -> list[int]:
        """The instructions on the only way from the s_getpc_b64 that starts the address to the jump."""
        way: list[int] = []
        index: int | None = last
        while index is not None and len(way) < _WINDOW:
            index = self._before(index)
            decoded = self._instructions[index].decoded if index is not None else None
            if index is None or decoded is None:
                return []
            way.insert(0, index)
            if decoded.base in GETS_PC and decoded.writes & pair:
                return way
        return []

    def _before(self, index: int) -> int | None:
        """The instruction that runs before ``index``; ``None`` when several may."""
        if self._jumps_to is None:
            self._jumps_to = self._all_jumps()
        jumps = self._jumps_to.get(index, [])
        before = self._instructions[index - 1].decoded if index else None
        if before is None:
            return None
        if before.of(Op.TERMINATOR) and not before.of(Op.CONDITIONAL):
            return jumps[0] if len(jumps) == 1 else None
        return None if jumps else index - 1

    def _all_jumps(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for instruction in self._instructions:
            decoded = instruction.decoded
            if decoded is not None and decoded.of(Op.BRANCH) and decoded.operands:
                label = decoded.operands[-1].text.strip()
                if label in self._labels:
                    found[self._labels[label]].append(instruction.index)
        return found

    def _follow(self, decoded: Decoded, position: int, values: dict[int, _Value]) -> None:
        """What the registers hold after an instruction, ``position`` instructions behind the s_getpc_b64."""
        operands = decoded.operands
        made: _Value | None = None
        if decoded.base in GETS_PC:
            made = (_PC, "")
        elif len(operands) == 3 and decoded.base in _ADDS | _SUBTRACTS:
            sources = {self._source(operand, values): operand for operand in operands[1:]}
            kinds = {kind for kind, _ in sources}
            label = "".join(label for _, label in sources)
            if kinds == {_PC, _OFFSET}:
                made = (_TARGET, label)
            elif kinds == {_NEAR, ""} and position == 1 and decoded.base in _ADDS and sources["", ""].value == 4:
                made = (_OFFSET, label)
        elif decoded.base == "s_abs_i32" and len(operands) == 2:
            made = values.get(operands[1].start)
        for start in [start for start in values if decoded.writes >> start & 1]:
            del values[start]
        if made is not None:
            values[operands[0].start] = made

    def _source(self, operand: Operand, values: dict[int, _Value]) -> _Value:
        if operand.start >= 0:
            return values.get(operand.start, ("", ""))
        text = operand.text.strip()
        if text in self._labels:
            return (_NEAR, text)
        names = [match["label"] for match in _DIFFERENCE.finditer(text.lstrip("("))]
        return next(((_OFFSET, name) for name in names if name in self._labels), ("", ""))
