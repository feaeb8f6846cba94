"""Which values surely differ between the work-items of a work-group, and which branches depend on them.

Only what *surely* depends on the work-item is followed: work-item ids, lane counters, and what is computed or loaded
from them. A value of unknown origin does not count, so a branch is never called divergent by guess.
"""

from __future__ import annotations

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
    entering = _solve(function, at_entry)
    found = []
    for block, state in zip(function.blocks, entering, strict=True):
        if state is None:
            continue
        for instruction in function.instructions[block.first : block.end]:
            decoded = instruction.decoded
            if decoded is None:
                continue
            if decoded.of(Op.BRANCH) and decoded.of(Op.CONDITIONAL):
                tested = _tested(decoded)
                if tested & state:
                    name = "EXEC" if tested & EXEC else "VCC" if tested & VCC else "SCC"
                    found.append(DivergentBranch(instruction.index, name))
            state = _after(decoded, state)
    return tuple(found)


def _tested(decoded: Decoded) -> int:
    """What a conditional branch looks at (its z and nz flags are those of VCC and EXEC)."""
    return _CONDITIONS.get(decoded.base.removeprefix("s_cbranch_"), 0)


def _after(decoded: Decoded, dependent: int) -> int:
    """Dependent registers after an instruction.

    A scalar mask is dependent when it is made from one (``s_and_b64`` of a compare), a vector value when any source
    is. Leaving a masked region (``s_or`` into EXEC) makes EXEC independent again when the saved mask is.
    """
    writes = decoded.writes
    if not writes:
        return dependent
    sources = decoded.reads & ~decoded.implicit_reads
    if decoded.base in _LANE_COUNTERS:
        return dependent | writes & VECTOR
    if decoded.of(Op.VOPC):
        made = sources & dependent & VECTOR
    elif decoded.of(_LOADS):
        made = sources & dependent if decoded.of(Op.LOAD) else 0
    elif decoded.of(Op.SALU):
        sources |= decoded.implicit_reads & ~EXEC
        made = sources & dependent
        if writes & EXEC and decoded.base.startswith("s_or_b"):
            made &= ~EXEC
        if decoded.base.startswith("s_and_saveexec"):
            # The saved value is the old EXEC, the new EXEC comes from the source; SCC says whether any lane is left.
            saved = decoded.operands[0].mask
            state = dependent & ~writes
            state |= saved if dependent & EXEC else 0
            return state | (EXEC | SCC if made or dependent & EXEC else 0)
    else:
        made = sources & dependent if decoded.of(Op.VALU) else 0
    cleared = dependent & ~(writes & ~decoded.keeps)
    return cleared | writes if made else cleared


def _solve(function: Function, at_entry: int) -> list[int | None]:
    """Dependent registers at the start of each block, over all paths that reach it: what is dependent on *every* path.

    Intersection: the sets only shrink, so this ends.
    """
    entering: list[int | None] = [None] * len(function.blocks)
    entering[0] = at_entry
    pending = [0]
    while pending:
        number = pending.pop()
        block = function.blocks[number]
        state = entering[number]
        assert state is not None
        for instruction in function.instructions[block.first : block.end]:
            if instruction.decoded is not None:
                state = _after(instruction.decoded, state)
        for successor in block.successors:
            old = entering[successor]
            new = state if old is None else old & state
            if new != old:
                entering[successor] = new
                pending.append(successor)
    return entering
