"""Which registers hold a value that is still needed, before each instruction of a function.

Scalar registers are killed by any full write. A vector write reaches only the lanes that EXEC selects, so two
sets are carried backwards: what a lane *inside* the current EXEC mask still needs, and what a lane *outside* it
needs. A masked write kills in the first only. Where EXEC narrows, the lanes that it drops carry the outer need;
where it widens, lanes from outside may come to need what the code behind the change needs. The result over-states
liveness (it is safe for moving and deleting instructions), never under-states it.

A register counts as live only where some path from the entry can have given it a value: without that, the outer
need would reach back to the start of the kernel.

A call of a subroutine of the function reads what the subroutine reads before it writes it. In the subroutine, what the
code behind any of its calls needs is live; the peak counts each call with what is live behind that one, and with all
registers that its subroutines touch.
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from asmevo_gate.analysis.definitions import defined_at_block_starts, may_define
from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.isa.instruction import MATRIX, Decoded, Op
from asmevo_gate.isa.registers import AGPRS, EXEC, SGPR, VECTOR, VGPR, VGPRS, bits
from asmevo_gate.program.model import COMES_BACK, Block, Function

_IGNORES_EXEC = MATRIX | Op.ACCVGPR
_LANE_ACCESS = ("v_readlane_", "v_readfirstlane_", "v_writelane_", "v_permlane")
"""Beginnings of the names of instructions that reach lanes outside of EXEC or of their own."""

CALL_READS = bits(VGPR.start, 32) | bits(SGPR.start, 32)
"""Argument registers of the AMDGPU calling convention (AMDGPUUsage, "Non-Kernel Functions": v0-v31, s0-s31)."""


_Needs = dict[int, tuple[int, int]]
"""Needs inside and outside of EXEC, by the number of a block."""


class Peak(msgspec.Struct, frozen=True):
    """The largest number of live registers of one kind, and the instruction after which they are live."""

    count: int
    index: int


class Liveness(msgspec.Struct, frozen=True, dict=True):
    """Live registers of one function; bit sets as in :mod:`asmevo_gate.isa.registers`."""

    vgpr_peak: Peak
    agpr_peak: Peak
    exact: bool
    """False when the function has unknown instructions, indirect registers or unresolved control flow: the sets are
    then a lower bound for what those may need."""
    _solution: _Solution

    @property
    def before(self) -> tuple[int, ...]:
        """The registers that are live before each instruction."""
        return self._sets[0]

    @property
    def after(self) -> tuple[int, ...]:
        """The registers that are live after each instruction."""
        return self._sets[1]

    @cached_property
    def _sets(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        points = [point for block in self._solution.function.blocks for point in _points(self._solution, block)]
        return tuple(before for before, _ in points), tuple(after for _, after in points)


class _Lanes(msgspec.Struct, frozen=True, gc=False):
    """What an instruction does past the lanes that EXEC selects: registers that it reads and kills in the others, and
    how it changes which lanes those are."""

    reads: int
    kills: int
    change: ExecChange


class _Effect(msgspec.Struct, frozen=True, gc=False):
    """What one instruction, or a run of them, does to the two need sets: the registers that it reads before it writes
    them, and those that it overwrites; ``lanes`` for the few that do more."""

    reads: int
    kills: int
    lanes: _Lanes | None


class _Solution(msgspec.Struct, frozen=True):
    """The solved data flow: needs at the end of each block (inside, outside of EXEC), and what may have a value at its
    start."""

    function: Function
    effects: list[_Effect]
    needs: list[tuple[int, int]]
    defined: list[int]


def live_registers(function: Function) -> Liveness:
    """Liveness of every register, exact on straight-line code, conservative where lanes or paths are not known."""
    effects = [_NOTHING] * len(function.instructions)
    for _, decoded, indices in function.spellings:
        if decoded is not None:
            effect = _effect(decoded)
            for index in indices:
                effects[index] = effect
    _read_by_subroutines(function, effects)
    needs = _solve_needs(function, effects)
    solution = _Solution(function, effects, needs, defined_at_block_starts(function))
    exact = (
        function.understood
        and not function.has(lambda decoded: decoded.has_indexed)
        and not any(block.leaves and block.leaves != COMES_BACK for block in function.blocks)
    )
    return Liveness(*_peaks(solution), exact, solution)


_NOTHING = _Effect(0, 0, None)
"""The effect of an instruction that is not understood: none."""


def _effect(decoded: Decoded) -> _Effect:
    classes, reads, kills = decoded.classes, decoded.reads, decoded.writes
    if classes & Op.CALL:
        reads |= CALL_READS
    if decoded.keeps:
        kills &= ~decoded.keeps
    if decoded.has_indexed:
        for operand in decoded.operands:
            if operand.indexed:
                # The register named is not the one accessed: nothing is known to be overwritten.
                kills &= ~operand.mask
    whole_wave = bool(classes & _IGNORES_EXEC) or decoded.base.startswith(_LANE_ACCESS)
    other_lanes = whole_wave or bool(classes & Op.DPP)
    if not other_lanes and not decoded.writes & EXEC:
        return _Effect(reads, kills, None)
    killed = kills & VECTOR if whole_wave and decoded.base != "v_writelane_b32" else 0
    return _Effect(reads, kills, _Lanes(reads & VECTOR if other_lanes else 0, killed, exec_change(decoded)))


def _step(effect: _Effect, inside: int, outside: int) -> tuple[int, int]:
    """Needs before an instruction from the needs after it."""
    lanes = effect.lanes
    if lanes is None:
        return inside & ~effect.kills | effect.reads, outside
    if lanes.change is not ExecChange.NONE:
        both = inside | outside
        if lanes.change is ExecChange.NARROWS:
            inside = both
        elif lanes.change is ExecChange.WIDENS:
            outside = both & VECTOR
        else:
            inside, outside = both, both & VECTOR
    return inside & ~effect.kills | effect.reads, outside & ~lanes.kills | lanes.reads


def _joined(effects: list[_Effect]) -> _Effect | None:
    """The effect of a run of instructions as that of one; ``None`` where it writes EXEC, which mixes the need sets."""
    reads = kills = reads_outside = kills_outside = 0
    for effect in effects:
        reads |= effect.reads & ~kills
        kills |= effect.kills
        lanes = effect.lanes
        if lanes is not None:
            if lanes.change is not ExecChange.NONE:
                return None
            reads_outside |= lanes.reads & ~kills_outside
            kills_outside |= lanes.kills
    return _Effect(reads, kills, _Lanes(reads_outside, kills_outside, ExecChange.NONE))


def _read_by_subroutines(function: Function, effects: list[_Effect]) -> None:
    """Give the calls of subroutines the effect of what they call."""
    needed: _Needs = {}
    calls = [block for block in function.blocks if block.entries]
    # Callees first: a subroutine has more blocks than those that it calls.
    for entry in sorted(function.subroutines, key=lambda one: len(function.subroutines[one])):
        inside = function.subroutines[entry]
        _call_effects(function, effects, [block for block in calls if block.number in inside], needed)
        nothing: _Needs = dict.fromkeys(inside, (0, 0))
        needed[entry] = _solve(function, effects, nothing, sorted(inside))[1][entry]
    _call_effects(function, effects, calls, needed)


def _call_effects(function: Function, effects: list[_Effect], calls: list[Block], needed: _Needs) -> None:
    for block in calls:
        call, called = function.instructions[block.end - 1].decoded, function.called(block)
        if call is None or called is None:
            continue
        reads, reads_outside = call.reads, 0
        for entry in block.entries:
            reads |= needed[entry][0]
            reads_outside |= needed[entry][1]
        change = ExecChange.UNKNOWN if called.writes & EXEC else ExecChange.NONE
        effects[block.end - 1] = _Effect(reads, call.writes, _Lanes(reads_outside, 0, change))


def _solve_needs(function: Function, effects: list[_Effect]) -> list[tuple[int, int]]:
    """Needs at the end of each block."""
    blocks = function.blocks
    at_exit = _needed_at_exit(function)
    leaving = ((block.leaves and block.leaves != COMES_BACK) or block.falls_off for block in blocks)
    at_end = {number: (at_exit if leaves else 0, 0) for number, leaves in enumerate(leaving)}
    at_end = _solve(function, effects, at_end, list(at_end))[0]
    return [at_end[block.number] for block in blocks]


def _solve(function: Function, effects: list[_Effect], at_end: _Needs, pending: list[int]) -> tuple[_Needs, _Needs]:
    """Needs at the end and at the start of some blocks: the least fixed point, by a worklist in reverse order. What is
    needed at the end is raised from ``at_end``.

    The sets only grow and are bounded by the register line, and every step is monotone, so this ends.
    """
    blocks = function.blocks
    coming_back = _coming_back(function)
    of_blocks = {number: _joined(effects[blocks[number].first : blocks[number].end]) for number in pending}
    at_start: _Needs = dict.fromkeys(pending, (0, 0))
    waiting = set(pending)
    while pending:
        number = pending.pop()
        waiting.discard(number)
        block = blocks[number]
        inside, outside = at_end[number]
        whole = of_blocks[number]
        if whole is not None:
            inside, outside = _step(whole, inside, outside)
        else:
            for effect in reversed(effects[block.first : block.end]):
                inside, outside = _step(effect, inside, outside)
        if (inside, outside) == at_start[number]:
            continue
        at_start[number] = (inside, outside)
        for predecessor in (*block.predecessors, *coming_back.get(number, ())):
            old = at_end.get(predecessor)
            if old is None:
                continue
            new = (old[0] | inside, old[1] | outside)
            if new != old:
                at_end[predecessor] = new
                if predecessor not in waiting:
                    waiting.add(predecessor)
                    pending.append(predecessor)
    return at_end, at_start


def _coming_back(function: Function) -> dict[int, list[int]]:
    """For each block behind a call of subroutines the blocks that come back from these."""
    found: dict[int, list[int]] = {}
    for number, behind in function.behind_calls.items():
        for one in behind:
            found.setdefault(one, []).append(number)
    return found


def _needed_at_exit(function: Function) -> int:
    """A device function returns values and keeps callee-saved registers; where control leaves to an unknown place,
    everything that has a value may be needed (cut down by what can be defined there)."""
    used = 0
    for _, writes in function.uses_of_blocks:
        used |= writes
    return used


def _points(solution: _Solution, block: Block) -> list[tuple[int, int]]:
    """Live registers before and after each instruction of a block."""
    inside, outside = solution.needs[block.number]
    needed = [inside | outside]
    for effect in reversed(solution.effects[block.first : block.end]):
        if effect.lanes is None:
            inside = inside & ~effect.kills | effect.reads
        else:
            inside, outside = _step(effect, inside, outside)
        needed.append(inside | outside)
    needed.reverse()
    has_value = solution.defined[block.number]
    points = []
    for position, instruction in enumerate(solution.function.instructions[block.first : block.end]):
        before = needed[position] & has_value
        if instruction.decoded is not None:
            has_value |= may_define(instruction)
        points.append((before, needed[position + 1] & has_value))
    return points


def _peaks(solution: _Solution) -> tuple[Peak, Peak]:
    """Where the most VGPRs and the most AGPRs are live. A block is not looked at more closely where all registers that
    it touches or passes on together are no more than the peak so far."""
    function = solution.function
    by_calls = CALL_READS if function.calls_outside else 0
    only_called = _only_called(function)
    vgprs, agprs = Peak(0, 0), Peak(0, 0)
    for block, uses in zip(function.blocks, function.uses_of_blocks, strict=True):
        if block.number in only_called:
            continue
        inside, outside = solution.needs[block.number]
        called = function.called(block)
        by_calls |= called.reads | called.writes if called is not None else 0
        most = inside | outside | uses.reads | uses.writes | by_calls
        if (most & VGPRS).bit_count() <= vgprs.count and (most & AGPRS).bit_count() <= agprs.count:
            continue
        unseen = True
        for index, (before, after) in enumerate(_points(solution, block), block.first):
            decoded = function.instructions[index].decoded
            if decoded is None:
                unseen = True
                continue
            at_once = after | decoded.writes
            if called is not None and index == block.end - 1:
                at_once |= called.reads | called.writes
            # What is live before an instruction was live after the one before it.
            for live in (before, at_once) if unseen else (at_once,):
                vgprs = _higher(vgprs, index, live & VGPRS)
                agprs = _higher(agprs, index, live & AGPRS)
            unseen = False
    return vgprs, agprs


def _only_called(function: Function) -> set[int]:
    """The blocks of subroutines that nothing but their calls leads to."""
    if not function.subroutines:
        return set()
    seen, pending = {0}, [0]
    while pending:
        new = set(function.blocks[pending.pop()].successors) - seen
        seen |= new
        pending += new
    return set(function.in_subroutines) - seen


def _higher(peak: Peak, index: int, live: int) -> Peak:
    count = live.bit_count()
    return Peak(count, index) if count > peak.count else peak
