"""Which values surely differ between the work-items of a work-group, and which branches depend on them.

Only what *surely* depends on the work-item is followed: work-item ids, lane counters, and what is computed or loaded
from them. A value of unknown origin does not count, so a branch is never called divergent by guess.
"""

from __future__ import annotations

from itertools import chain

import msgspec

from asmevo_gate.analysis.initial_state import work_item_registers
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import EXEC, SCC, VCC, VECTOR
from asmevo_gate.program.model import Function

_LANE_COUNTERS = frozenset(("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"))
_CONDITIONS = {
    "execz": EXEC, "execnz": EXEC, "vccz": VCC, "vccnz": VCC, "scc0": SCC, "scc1": SCC,
}  # fmt: skip
_LOADS = VMEM | Op.DS


class DivergentBranch(msgspec.Struct, frozen=True):
    """A conditional branch that waves of one work-group may take differently: its index and what its condition is."""

    index: int
    condition: str


def divergent_branches(function: Function) -> tuple[DivergentBranch, ...]:
    """The conditional branches of a kernel whose condition surely comes from work-item dependent values.

    Branches on EXECZ, VCCZ and SCC are followed back to the masks that they test. ``v_readfirstlane`` of a
    dependent value is taken as dependent: it is the same in one wave, but not in all waves of the work-group.
    """
    at_entry = work_item_registers(function)
    if not at_entry or not function.blocks:
        return ()
    found = []
    for block, dependent in zip(function.blocks, _solve(function, at_entry), strict=True):
        last = function.instructions[block.end - 1]
        if dependent is None or last.decoded is None:
            continue
        if last.decoded.of(Op.BRANCH) and last.decoded.of(Op.CONDITIONAL):
            tested = _tested(last.decoded)
            if tested & dependent:
                name = "EXEC" if tested & EXEC else "VCC" if tested & VCC else "SCC"
                found.append(DivergentBranch(last.index, name))
    return tuple(found)


def _tested(decoded: Decoded) -> int:
    """What a conditional branch looks at (its z and nz flags are those of VCC and EXEC)."""
    return _CONDITIONS.get(decoded.base.removeprefix("s_cbranch_"), 0)


class _Effect(msgspec.Struct, frozen=True, gc=False):
    """What an instruction makes of the dependent registers: it clears some, and makes what it ``writes`` dependent
    where one of the ``sources`` is. ``saved`` are the registers that get the old EXEC, ``counts`` those that get a
    number of lanes."""

    sources: int
    clears: int
    writes: int
    saved: int = 0
    counts: int = 0


def _effect(decoded: Decoded) -> _Effect | None:
    """The effect of an instruction, ``None`` when it has none.

    A scalar mask is dependent when it is made from one (``s_and_b64`` of a compare), a vector value when any source
    is. Leaving a masked region (``s_or`` into EXEC) makes EXEC independent again when the saved mask is.
    """
    writes = decoded.writes
    if not writes:
        return None
    clears = writes & ~decoded.keeps
    sources = decoded.reads & ~decoded.implicit_reads
    if decoded.base in _LANE_COUNTERS:
        return _Effect(0, 0, 0, counts=writes & VECTOR)
    if decoded.of(Op.VOPC):
        return _Effect(sources & VECTOR, clears, writes)
    if decoded.of(_LOADS):
        return _Effect(sources if decoded.of(Op.LOAD) else 0, clears, writes)
    if decoded.of(Op.SALU):
        sources |= decoded.implicit_reads & ~EXEC
        if decoded.base.startswith("s_and_saveexec"):
            return _Effect(sources | EXEC, writes, EXEC | SCC, decoded.operands[0].mask)
        if writes & EXEC and decoded.base.startswith("s_or_b"):
            sources &= ~EXEC
        return _Effect(sources, clears, writes)
    return _Effect(sources if decoded.of(Op.VALU) else 0, clears, writes)


def _effects(decoded: Decoded) -> tuple[_Effect, ...]:
    """What an instruction does, one after the other. The halves of a VOPD depend on their own sources only; the one
    that reads what the other writes comes first."""
    made = tuple(filter(None, map(_effect, decoded.halves or (decoded,))))
    if len(made) < 2:
        return made
    first, second = made
    if not second.sources & first.writes:
        return first, second
    return (second, first) if not first.sources & second.writes else (_Effect(0, first.clears | second.clears, 0),)


def _after(effect: _Effect, dependent: int) -> int:
    """Dependent registers after an instruction."""
    if not effect.sources & dependent:
        return dependent & ~effect.clears | effect.counts
    # s_and_saveexec: the saved value is the old EXEC, the new EXEC comes from the source, SCC says whether any lane is
    # left.
    saved = effect.saved if dependent & EXEC else 0
    return dependent & ~effect.clears | effect.writes | saved


def _solve(function: Function, at_entry: int) -> list[int | None]:
    """Dependent registers at the end of each block, over all paths that reach it: what is dependent on *every* path.

    Intersection: the sets only shrink, so this ends.
    """
    effects: list[tuple[_Effect, ...]] = [()] * len(function.instructions)
    for _, decoded, indices in function.spellings:
        made = () if decoded is None else _effects(decoded)
        if made:
            for index in indices:
                effects[index] = made
    of_blocks = [list(chain.from_iterable(effects[block.first : block.end])) for block in function.blocks]
    entering: list[int | None] = [None] * len(function.blocks)
    leaving: list[int | None] = [None] * len(function.blocks)
    entering[0] = at_entry
    pending = [0]
    while pending:
        number = pending.pop()
        state = entering[number]
        assert state is not None
        for effect in of_blocks[number]:
            state = _after(effect, state)
        called = function.called(function.blocks[number])
        if called is not None:
            state &= ~called.writes
        leaving[number] = state
        for successor in function.blocks[number].successors:
            old = entering[successor]
            new = state if old is None else old & state
            if new != old:
                entering[successor] = new
                pending.append(successor)
    return leaving
