"""Which registers hold a value that is still needed, before each instruction of a function.

Scalar registers are killed by any full write. A vector write reaches only the lanes that EXEC selects, so two
sets are carried backwards: what a lane *inside* the current EXEC mask still needs, and what a lane *outside* it
needs. A masked write kills in the first only. Where EXEC narrows, the lanes that it drops carry the outer need;
where it widens, lanes from outside may come to need what the code behind the change needs. The result over-states
liveness (it is safe for moving and deleting instructions), never under-states it.

A register counts as live only where some path from the entry can have given it a value: without that, the outer
need would reach back to the start of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo_gate.analysis.definitions import defined_at_block_starts, may_define
from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.isa.instruction import MATRIX, Decoded, Op
from asmevo_gate.isa.registers import AGPRS, SGPR, VECTOR, VGPR, VGPRS, bits
from asmevo_gate.program.model import Block, Function

_IGNORES_EXEC = MATRIX | Op.ACCVGPR
_LANE_ACCESS = ("v_readlane_", "v_readfirstlane_", "v_writelane_", "v_permlane")
"""Beginnings of the names of instructions that reach lanes outside of EXEC or of their own."""

CALL_READS = bits(VGPR.start, 32) | bits(SGPR.start, 32)
"""Argument registers of the AMDGPU calling convention (AMDGPUUsage, "Non-Kernel Functions": v0-v31, s0-s31)."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest number of live registers of one kind, and the instruction after which they are live."""

    count: int
    index: int


@dataclass(frozen=True)
class Liveness:
    """Live registers of one function; bit sets as in :mod:`asmevo_gate.isa.registers`.

    ``before[i]`` / ``after[i]``: live before / after instruction ``i``. ``undefined`` are registers that are read on
    some path before anything gave them a value.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    vgpr_peak: Peak
    agpr_peak: Peak
    exact: bool
    """False when the function has unknown instructions, indirect registers or unresolved control flow: the sets are
    then a lower bound for what those may need."""


@dataclass(frozen=True, slots=True)
class _Effect:
    """What one instruction does to the two need sets."""

    reads: int
    reads_all_lanes: int
    kills_scalar: int
    kills_vector: int
    kills_all_lanes: int
    change: ExecChange


def live_registers(function: Function) -> Liveness:
    """Liveness of every register, exact on straight-line code, conservative where lanes or paths are not known."""
    memo: dict[str, _Effect | None] = {}
    effects = [_effect_of(instruction.decoded, memo) for instruction in function.instructions]
    needs = _solve_needs(function, effects)
    defined = defined_at_block_starts(function)
    return _per_instruction(function, effects, needs, defined)


def _effect_of(decoded: Decoded | None, memo: dict[str, _Effect | None]) -> _Effect | None:
    if decoded is None:
        return None
    if decoded.text not in memo:
        memo[decoded.text] = _effect(decoded)
    return memo[decoded.text]


def _effect(decoded: Decoded) -> _Effect:
    reads = decoded.reads | (CALL_READS if decoded.classes & Op.CALL else 0)
    kills = decoded.writes & ~decoded.keeps
    for operand in decoded.operands:
        if operand.indexed:
            # The register named is not the one accessed: nothing is known to be overwritten.
            kills &= ~operand.mask
    whole_wave = bool(decoded.classes & _IGNORES_EXEC) or decoded.base.startswith(_LANE_ACCESS)
    other_lanes = whole_wave or bool(decoded.classes & Op.DPP)
    return _Effect(
        reads=reads,
        reads_all_lanes=reads & VECTOR if other_lanes else 0,
        kills_scalar=kills & ~VECTOR,
        kills_vector=kills & VECTOR,
        kills_all_lanes=kills & VECTOR if whole_wave and decoded.base != "v_writelane_b32" else 0,
        change=exec_change(decoded),
    )


def _step(effect: _Effect | None, inside: int, outside: int) -> tuple[int, int]:
    """Needs before an instruction from the needs after it."""
    if effect is None:
        return inside, outside
    if effect.change is not ExecChange.NONE:
        both = inside | outside
        if effect.change is ExecChange.NARROWS:
            inside = both
        elif effect.change is ExecChange.WIDENS:
            outside = both & VECTOR
        else:
            inside, outside = both, both & VECTOR
    inside &= ~(effect.kills_scalar | effect.kills_vector)
    outside &= ~effect.kills_all_lanes
    return inside | effect.reads, outside | effect.reads_all_lanes


def _solve_needs(function: Function, effects: list[_Effect | None]) -> list[tuple[int, int]]:
    """Needs at the end of each block: the least fixed point, by a worklist in reverse order.

    The sets only grow and are bounded by the register line, and every step is monotone, so this ends.
    """
    blocks = function.blocks
    at_end: list[tuple[int, int]] = [(_needed_at_exit(block, function), 0) for block in blocks]
    at_start: list[tuple[int, int]] = [(0, 0)] * len(blocks)
    pending = list(range(len(blocks)))
    waiting = set(pending)
    while pending:
        number = pending.pop()
        waiting.discard(number)
        block = blocks[number]
        inside, outside = at_end[number]
        for index in range(block.end - 1, block.first - 1, -1):
            inside, outside = _step(effects[index], inside, outside)
        if (inside, outside) == at_start[number]:
            continue
        at_start[number] = (inside, outside)
        for predecessor in block.predecessors:
            old = at_end[predecessor]
            new = (old[0] | inside, old[1] | outside)
            if new != old:
                at_end[predecessor] = new
                if predecessor not in waiting:
                    waiting.add(predecessor)
                    pending.append(predecessor)
    return at_end


def _needed_at_exit(block: Block, function: Function) -> int:
    """A device function returns values and keeps callee-saved registers; where control leaves to an unknown place,
    everything that has a value may be needed (cut down by what can be defined there)."""
    leaves_function = block.leaves or block.falls_off
    if not leaves_function:
        return 0
    used = 0
    for instruction in function.instructions:
        if instruction.decoded is not None:
            used |= instruction.decoded.writes
    return used


def _per_instruction(
    function: Function, effects: list[_Effect | None], needs: list[tuple[int, int]], defined: list[int]
) -> Liveness:
    count = len(function.instructions)
    before = [0] * count
    after = [0] * count
    vgpr_peak, agpr_peak = Peak(0, 0), Peak(0, 0)
    exact = not any(block.leaves for block in function.blocks)
    for block, (inside, outside), has_value in zip(function.blocks, needs, defined, strict=True):
        for index in range(block.end - 1, block.first - 1, -1):
            after[index] = inside | outside
            inside, outside = _step(effects[index], inside, outside)
            before[index] = inside | outside
        for index in range(block.first, block.end):
            decoded = function.instructions[index].decoded
            before[index] &= has_value
            if decoded is None:
                exact = False
                after[index] &= has_value
                continue
            has_value |= may_define(function.instructions[index])
            after[index] &= has_value
            exact = exact and not decoded.has_indexed
            at_once = after[index] | decoded.writes
            vgpr_peak = _higher(vgpr_peak, index, before[index] & VGPRS, at_once & VGPRS)
            agpr_peak = _higher(agpr_peak, index, before[index] & AGPRS, at_once & AGPRS)
    return Liveness(tuple(before), tuple(after), vgpr_peak, agpr_peak, exact)


def _higher(peak: Peak, index: int, *sets: int) -> Peak:
    count = max(registers.bit_count() for registers in sets)
    return Peak(count, index) if count > peak.count else peak
