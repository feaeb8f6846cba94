"""How an instruction changes the EXEC mask: the lanes that later vector instructions compute."""

from __future__ import annotations

from enum import Enum

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC
from asmevo_gate.program.model import Block, Function

_BITWISE = {
    # base name without width -> (effect when EXEC is one of the sources, effect otherwise). The saveexec forms read
    # EXEC implicitly (RDNA3 ISA 16.3, "SOP1": S_AND_SAVEEXEC: EXEC = S0 & EXEC, and so on).
    "s_and": "narrows",
    "s_andn2": "narrows_first",
    "s_and_not1": "narrows_first",
    "s_or": "widens",
    "s_and_saveexec": "narrows",
    "s_or_saveexec": "widens",
    "s_andn1_saveexec": "narrows",
    "s_and_not0_saveexec": "narrows",
    "s_andn1_wrexec": "narrows",
    "s_and_not0_wrexec": "narrows",
}


class ExecChange(Enum):
    """Relation of the EXEC mask after an instruction to the one before it."""

    NONE = "none"
    NARROWS = "narrows"
    """Every lane active after it was active before."""
    WIDENS = "widens"
    """Every lane active before it is active after."""
    UNKNOWN = "unknown"


def exec_change(decoded: Decoded) -> ExecChange:
    """What the instruction does to EXEC.

    ``v_cmpx`` clears the lanes whose comparison fails and leaves inactive lanes inactive; ``s_and``/``s_or`` with
    EXEC as a source intersect and unite; ``s_mov exec, -1`` turns every lane on. Everything else is unknown.
    """
    if not decoded.writes & EXEC:
        return ExecChange.NONE
    if decoded.classes & Op.VOPC:
        return ExecChange.NARROWS
    stem, _, width = decoded.base.rpartition("_")
    if width not in ("b32", "b64"):
        return ExecChange.UNKNOWN
    sources = decoded.operands[1:]
    if stem == "s_mov":
        return ExecChange.WIDENS if sources and sources[0].value == -1 else ExecChange.UNKNOWN
    effect = _BITWISE.get(stem)
    if effect is None:
        return ExecChange.UNKNOWN
    if not stem.endswith("exec"):
        reading = [operand for operand in sources if operand.mask & EXEC]
        if not reading or (effect == "narrows_first" and not sources[0].mask & EXEC):
            return ExecChange.UNKNOWN
    return ExecChange.WIDENS if effect == "widens" else ExecChange.NARROWS


def some_lane_active(function: Function) -> tuple[bool, ...]:
    """For each block: whether EXEC is surely not zero at its start.

    A kernel starts with at least one lane. That holds until something writes EXEC, and again behind a branch that
    tests it (``s_cbranch_execz`` not taken, ``s_cbranch_execnz`` taken).
    """
    blocks = function.blocks
    kept = [not any(_writes_exec(function, index) for index in range(block.first, block.end)) for block in blocks]
    known = [True] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in blocks:
            entry = block.number == 0 and function.is_kernel
            edges = [
                _tested(function, blocks[previous], block) or (known[previous] and kept[previous])
                for previous in block.predecessors
            ]
            holds = all(edges) and (entry or (bool(edges) and block.number != 0))
            if known[block.number] and not holds:
                known[block.number] = False
                changed = True
    return tuple(known)


def _writes_exec(function: Function, index: int) -> bool:
    decoded = function.instructions[index].decoded
    return decoded is None or bool(decoded.writes & EXEC or decoded.classes & Op.CALL)


def _tested(function: Function, block: Block, successor: Block) -> bool:
    """True when the edge is only taken where EXEC is not zero."""
    decoded = function.instructions[block.end - 1].decoded
    if decoded is None or len(block.successors) != 2:
        return False
    falls_through = successor.first == block.end
    return (decoded.base == "s_cbranch_execz" and falls_through) or (
        decoded.base == "s_cbranch_execnz" and not falls_through
    )
