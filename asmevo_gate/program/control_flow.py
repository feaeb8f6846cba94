"""Basic blocks and the edges between them."""

from __future__ import annotations

import re

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import SGPR, bits
from asmevo_gate.program.long_branch import GETS_PC, LongBranches
from asmevo_gate.program.model import Block, Instruction, Spelling, spellings_of

_ENDS_BLOCK = Op.BRANCH | Op.TERMINATOR | Op.INDIRECT
_SYMBOL = re.compile(r"^[A-Za-z_.$@][\w.$@]*$")
_TRAP, _ABORT = "s_trap", 2
"""AMDGPUUsage, "Trap Handler ABI": llvm.trap is s_trap 2, and the queue goes into the error state."""
RETURN = "return"
"""``Block.leaves`` of a block that returns to the caller."""
RETURN_ADDRESS = bits(SGPR.start + 30, 2)
_SETS_PC = frozenset(("s_setpc_b64", "s_set_pc_i64"))
"""Second spelling: gfx1250."""
_LEAVES_TRAP_HANDLER = frozenset(("s_rfe_b64", "s_rfe_restore_b64", "s_rfe_i64"))
"""Back from the trap handler to the interrupted program (ISA manuals, "SOP1 Instructions"): the end of this one, and no
return to a caller, whose registers the calling convention would protect."""


def build_blocks(
    instructions: tuple[Instruction, ...], labels: dict[str, int], spellings: tuple[Spelling, ...] | None = None
) -> tuple[Block, ...]:
    """The basic blocks of a function in program order, block 0 being the entry. ``spellings`` are those of the
    instructions, where the caller has them.

    Every label starts a block, and so does whatever follows a branch or a terminator. An edge that cannot be
    resolved is never dropped: the block's ``leaves`` says why.
    """
    if not instructions:
        return ()
    count = len(instructions)
    leaders = {0} | {index for index in labels.values() if index < count}
    for _, decoded, indices in spellings_of(instructions) if spellings is None else spellings:
        if decoded is not None and decoded.classes & _ENDS_BLOCK:
            leaders.update(index + 1 for index in indices if index + 1 < count)
    starts = sorted(leaders)
    ends = [*starts[1:], count]
    label_at: dict[int, str] = {}
    for name, index in labels.items():
        label_at.setdefault(index, name)
    block_at = {start: number for number, start in enumerate(starts)}
    long_branches = LongBranches(instructions, labels)
    successors: list[tuple[int, ...]] = []
    leaves: list[str] = []
    falls_off: list[bool] = []
    for number, end in enumerate(ends):
        targets, falls_through, reason = _edges(instructions, end - 1, labels, long_branches)
        reached = [block_at[index] for index in targets if index < count]
        runs_off = max(targets, default=0) >= count or (falls_through and end == count)
        if falls_through and end < count:
            reached.append(number + 1)
        successors.append(tuple(dict.fromkeys(reached)))
        leaves.append(reason)
        falls_off.append(runs_off)
    predecessors: list[list[int]] = [[] for _ in starts]
    for number, reached_blocks in enumerate(successors):
        for successor in reached_blocks:
            predecessors[successor].append(number)
    return tuple(
        Block(
            number, label_at.get(starts[number], ""), starts[number], ends[number], successors[number],
            tuple(predecessors[number]), leaves[number], falls_off[number],
        )
        for number in range(len(starts))
    )  # fmt: skip


def _edges(
    instructions: tuple[Instruction, ...], last: int, labels: dict[str, int], long_branches: LongBranches
) -> tuple[list[int], bool, str]:
    """Where control goes after ``instructions[last]``: target indices, whether it may fall through, and why it may
    go somewhere unknown (or ``""``)."""
    decoded = instructions[last].decoded
    if decoded is None or not decoded.classes & _ENDS_BLOCK:
        return [], last + 1 < len(instructions) or not is_abort(decoded), ""
    if decoded.classes & Op.CALL:
        # The callee returns behind the call; what it does in between is for the analyses to assume.
        return [], True, ""
    if decoded.classes & Op.INDIRECT:
        target = long_branches.target(last)
        if target is not None:
            return [target], False, ""
        if decoded.base in _LEAVES_TRAP_HANDLER:
            return [], False, ""
        if decoded.base in _SETS_PC and (_is_return(instructions, decoded) or long_branches.returns(last)):
            return [], False, RETURN
        return [], False, f"indirect branch: the target of {decoded.base} is not known"
    if decoded.classes & Op.BRANCH:
        falls_through = bool(decoded.classes & Op.CONDITIONAL)
        operand = decoded.operands[-1] if decoded.operands else None
        index, reason = _branch_target(operand, labels)
        return ([] if index is None else [index]), falls_through, reason
    return [], False, ""


def is_abort(decoded: Decoded | None) -> bool:
    """A trap from which the runtime's handler does not return. At the end of a function it ends the wavefront;
    compilers put code behind it where the trap may be switched off (gfx11)."""
    return decoded is not None and decoded.base == _TRAP and decoded.operands[0].value == _ABORT


def _is_return(instructions: tuple[Instruction, ...], branch: Decoded) -> bool:
    """A jump to the return address s[30:31] (AMDGPUUsage, "Non-Kernel Functions"), which nothing in the function
    computes with s_getpc_b64."""
    if branch.operands[-1].mask != RETURN_ADDRESS:
        return False
    computed = (one.decoded for one in instructions if one.decoded is not None)
    return not any(one.base in GETS_PC and one.writes & RETURN_ADDRESS for one in computed)


def _branch_target(operand: Operand | None, labels: dict[str, int]) -> tuple[int | None, str]:
    text = operand.text.strip() if operand else ""
    if text in labels:
        return labels[text], ""
    if _SYMBOL.match(text):
        return None, f"branch to '{text}', which is not a label of this function"
    return None, f"branch to '{text}': an offset or expression is not followed"
