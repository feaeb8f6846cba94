"""Slices of basic blocks that a rewrite may change: register computation and nothing else.

A region is a run of instructions in one block without branch, memory access, message, barrier, change of EXEC or
MODE, and without registers that the text does not name. Waits and padding may lie inside; whether they may change is
for the counter and hazard analyses to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo_gate.analysis.exec_mask import some_lane_active
from asmevo_gate.analysis.liveness import Liveness, live_registers
from asmevo_gate.analysis.side_effects import CONTROL, MEMORY, has_effect, is_timing, renames_registers
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC, MODE, VECTOR
from asmevo_gate.program.model import Function, Instruction


@dataclass(frozen=True)
class Region:
    """Instructions ``[first, end)`` of a function, all in block ``block``.

    ``live_in``: registers that are read here before they are written, or live through; ``live_out``: registers whose
    value is needed behind the region; both as bit sets. ``timing`` are the indices of waits and padding inside.
    ``lane_active``: EXEC is surely not zero.
    """

    function: Function
    block: int
    first: int
    end: int
    live_in: int
    live_out: int
    reads: int
    writes: int
    timing: tuple[int, ...]
    lane_active: bool = False

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions in order."""
        return self.function.instructions[self.first : self.end]

    @property
    def vector_only(self) -> bool:
        """True when the region writes vector registers only."""
        return not self.writes & ~VECTOR


@dataclass(frozen=True)
class Excluded:
    """An instruction that no region holds, and why."""

    instruction: Instruction
    reason: str


@dataclass(frozen=True)
class Slices:
    """All of a function: what may be rewritten, and the rest with its reason."""

    regions: tuple[Region, ...]
    excluded: tuple[Excluded, ...]


def find_regions(function: Function, liveness: Liveness | None = None, minimum: int = 1) -> Slices:
    """The regions of a function with at least ``minimum`` computing instructions, in program order.

    Every instruction is in one region or among the excluded ones.
    """
    liveness = liveness or live_registers(function)
    regions: list[Region] = []
    excluded: list[Excluded] = []
    renamed = renaming_reason(function)
    active = some_lane_active(function)
    for block in function.blocks:
        first = block.first
        lane_active = active[block.number]
        for index in range(block.first, block.end + 1):
            instruction = function.instructions[index] if index < block.end else None
            reason = renamed or exclusion(instruction) if instruction is not None else "end of block"
            if not reason:
                continue
            region = _region(function, liveness, block.number, first, index, lane_active)
            if region is not None and index - first - len(region.timing) >= minimum:
                regions.append(region)
            else:
                excluded += [Excluded(one, _TOO_SHORT) for one in function.instructions[first:index]]
            if instruction is not None:
                excluded.append(Excluded(instruction, reason))
                lane_active = lane_active and not _may_write_exec(instruction)
            first = index + 1
    excluded.sort(key=lambda one: one.instruction.index)
    return Slices(tuple(regions), tuple(excluded))


_TOO_SHORT = "no computation around it, or less than asked for"


def _region(
    function: Function, liveness: Liveness, block: int, first: int, end: int, lane_active: bool
) -> Region | None:
    if first >= end:
        return None
    reads = writes = 0
    timing: list[int] = []
    for index in range(first, end):
        decoded = function.instructions[index].decoded
        assert decoded is not None
        reads |= decoded.reads & ~writes
        writes |= decoded.writes
        if is_timing(decoded):
            timing.append(index)
    if len(timing) == end - first:
        return None
    live_out = liveness.after[end - 1]
    live_in = liveness.before[first] | reads
    return Region(function, block, first, end, live_in, live_out, reads, writes, tuple(timing), lane_active)


def _may_write_exec(instruction: Instruction) -> bool:
    return instruction.decoded is None or bool(instruction.decoded.writes & EXEC)


def renaming_reason(function: Function) -> str:
    """GPR index mode and VGPR MSBs change what all instructions behind them touch."""
    for instruction in function.instructions:
        decoded = instruction.decoded
        if decoded is not None and decoded.base.startswith(("s_set_gpr_idx", "s_set_vgpr_msb")):
            return f"the function renames registers with {decoded.base}"
    return ""


_REASONS: tuple[tuple[Callable[[Decoded], bool], str], ...] = (
    (renames_registers, "touches registers that its text does not name"),
    (lambda decoded: bool(decoded.classes & CONTROL), "branch, call or end of the wave"),
    (lambda decoded: bool(decoded.classes & (Op.DS | Op.GDS | Op.LDSDIR | Op.LDS_DMA)), "LDS or GDS access"),
    (lambda decoded: bool(decoded.classes & MEMORY), "memory access or export"),
    (lambda decoded: bool(decoded.classes & Op.BARRIER), "barrier"),
    (has_effect, "message, hardware register or other effect"),
    (lambda decoded: bool(decoded.writes & EXEC), "changes EXEC"),
    (lambda decoded: bool(decoded.writes & MODE), "changes MODE"),
    (lambda decoded: bool(decoded.classes & Op.UNMODELLED), "has effects that are not modelled"),
    (
        lambda decoded: not is_timing(decoded) and not decoded.classes & (Op.VALU | Op.SALU),
        "neither vector nor scalar computation",
    ),
)


def exclusion(instruction: Instruction) -> str:
    """Why an instruction cannot be in a region; ``""`` when it can."""
    decoded = instruction.decoded
    if decoded is None:
        return instruction.unknown.reason if instruction.unknown is not None else "not understood"
    for applies, reason in _REASONS:
        if applies(decoded):
            return reason
    return ""
