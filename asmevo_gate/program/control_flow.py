"""Basic blocks and the edges between them."""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.program.code_addresses import GETS_PC
from asmevo_gate.program.jump_targets import BEHIND_CALL, RETURN_ADDRESS, RETURNS, SETS_PC, JumpTargets, Layout
from asmevo_gate.program.model import COMES_BACK, RETURN, Block, Call, Instruction, Spelling, spellings_of

_ENDS_BLOCK = Op.BRANCH | Op.TERMINATOR | Op.INDIRECT
_SYMBOL = re.compile(r"^[A-Za-z_.$@][\w.$@]*$")
_TRAP, _ABORT = "s_trap", 2
"""AMDGPUUsage, "Trap Handler ABI": llvm.trap is s_trap 2, and the queue goes into the error state."""
_LEAVES_TRAP_HANDLER = frozenset(("s_rfe_b64", "s_rfe_restore_b64", "s_rfe_i64"))
"""Back from the trap handler to the interrupted program (ISA manuals, "SOP1 Instructions"): the end of this one, and no
return to a caller, whose registers the calling convention would protect."""


class _Edges(msgspec.Struct, frozen=True):
    """Where control goes at the end of a block: indices of instructions, whether it may fall through, and why it leaves
    for a place that is no block (or ``""``)."""

    targets: tuple[int, ...]
    falls_through: bool
    leaves: str = ""
    call: Call | None = None


def build_blocks(
    instructions: tuple[Instruction, ...],
    labels: dict[str, int],
    spellings: tuple[Spelling, ...] | None = None,
    *,
    is_kernel: bool = False,
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
    through_registers = False
    spellings = spellings_of(instructions) if spellings is None else spellings
    for _, decoded, indices in spellings:
        if decoded is not None and decoded.classes & _ENDS_BLOCK:
            through_registers = through_registers or decoded.of(Op.INDIRECT | Op.CALL)
            leaders.update(index + 1 for index in indices if index + 1 < count)
    starts = sorted(leaders)
    ends = [*starts[1:], count]
    label_at: dict[int, str] = {}
    for name, index in labels.items():
        label_at.setdefault(index, name)
    block_at = {start: number for number, start in enumerate(starts)}
    edges = [_edges(instructions[end - 1].decoded, labels, last=end == count) for end in ends]
    if through_registers:
        reached = [tuple(block_at[index] for index in one.targets if index < count) for one in edges]
        layout = Layout(
            instructions, spellings, labels, starts, ends, block_at, reached,
            [one.falls_through for one in edges],
            [bool(one.leaves) or any(index >= count for index in one.targets) for one in edges],
        )  # fmt: skip
        targets = JumpTargets(layout, is_kernel=is_kernel)
        returning = _Returns(instructions, targets, is_kernel)
        edges = [
            _through_registers(one, instructions[end - 1], labels, targets, returning.at(number, end - 1))
            for number, (one, end) in enumerate(zip(edges, ends, strict=True))
        ]
    return _linked(starts, ends, label_at, edges, block_at)


def _linked(
    starts: list[int], ends: list[int], label_at: dict[int, str], edges: list[_Edges], block_at: dict[int, int]
) -> tuple[Block, ...]:
    count = ends[-1]
    successors: list[tuple[int, ...]] = []
    for number, (end, one) in enumerate(zip(ends, edges, strict=True)):
        reached = [block_at[index] for index in one.targets if index < count]
        if one.falls_through and end < count:
            reached.append(number + 1)
        successors.append(tuple(dict.fromkeys(reached)))
    predecessors: list[list[int]] = [[] for _ in starts]
    for number, reached_blocks in enumerate(successors):
        for successor in reached_blocks:
            predecessors[successor].append(number)
    return tuple(
        Block(
            number, label_at.get(starts[number], ""), starts[number], ends[number], successors[number],
            tuple(predecessors[number]), one.leaves,
            any(index >= count for index in one.targets) or (one.falls_through and ends[number] == count), one.call,
        )
        for number, one in enumerate(edges)
    )  # fmt: skip


def _edges(decoded: Decoded | None, labels: dict[str, int], *, last: bool) -> _Edges:
    """The edges behind an instruction, as far as it names them itself. ``last``: of the function."""
    if decoded is None or not decoded.classes & _ENDS_BLOCK:
        return _Edges((), not (last and is_abort(decoded)))
    if decoded.classes & (Op.CALL | Op.INDIRECT):
        return _Edges((), False)
    if decoded.classes & Op.BRANCH:
        falls_through = bool(decoded.classes & Op.CONDITIONAL)
        operand = decoded.operands[-1] if decoded.operands else None
        index, reason = _branch_target(operand, labels)
        return _Edges(() if index is None else (index,), falls_through, reason)
    return _Edges((), False)


def _through_registers(
    edges: _Edges, last: Instruction, labels: dict[str, int], targets: JumpTargets, returns: bool
) -> _Edges:
    """The edges behind a call or a jump through registers."""
    decoded = last.decoded
    if decoded is None:
        return edges
    if decoded.of(Op.CALL):
        # The called code comes back behind the call; what it does in between is for the analyses to follow or assume.
        call = targets.calls.get(last.index, Call(()))
        return _Edges((), not call.entries or targets.comes_back(call), call=call)
    if not decoded.of(Op.INDIRECT) or decoded.base in _LEAVES_TRAP_HANDLER:
        return edges
    found = targets.jumps.get(last.index)
    if found == BEHIND_CALL:
        return _Edges((), False, COMES_BACK)
    if found == RETURNS or (found is None and returns and decoded.base in SETS_PC):
        return _Edges((), False, RETURN)
    if found is not None and found <= labels.keys():
        return _Edges(tuple(sorted(labels[name] for name in found)), False)
    return _Edges((), False, f"indirect branch: the target of {decoded.base} is not known")


class _Returns:
    """Jumps that are returns though not everything in front of them is followed."""

    def __init__(self, instructions: tuple[Instruction, ...], targets: JumpTargets, is_kernel: bool) -> None:
        self._instructions = instructions
        self._targets = targets
        self._is_kernel = is_kernel

    def at(self, number: int, index: int) -> bool:
        """Whether the end of a block goes to the return address, by all that is known.

        A device function may keep its return address anywhere. It goes back through s[30:31] (AMDGPUUsage, "Non-Kernel
        Functions") where it computes no address in there. A kernel returns nowhere, but code in it that nothing leads
        to may be a subroutine: it goes back through the link register of some call where nothing else writes that.
        """
        decoded = self._instructions[index].decoded
        if decoded is None or not decoded.of(Op.INDIRECT) or not decoded.operands:
            return False
        pair, loose = decoded.operands[-1].mask, self._targets.is_loose(number)
        in_function = loose or (not self._is_kernel and number in self._targets.in_main)
        return (in_function and pair == RETURN_ADDRESS and self._computes_none) or (
            loose and pair in self._link_registers
        )

    @cached_property
    def _computes_none(self) -> bool:
        decodeds = (one.decoded for one in self._instructions if one.decoded is not None)
        return not any(one.base in GETS_PC and one.writes & RETURN_ADDRESS for one in decodeds)

    @cached_property
    def _link_registers(self) -> set[int]:
        """Pairs that calls put the return address in, and nothing else writes."""
        calls = [one.decoded for one in self._instructions if one.decoded is not None and one.decoded.of(Op.CALL)]
        pairs = {decoded.operands[0].mask for decoded in calls if decoded.operands}
        for instruction in self._instructions:
            decoded = instruction.decoded
            if pairs and (decoded is None or not decoded.of(Op.CALL)):
                pairs = {pair for pair in pairs if decoded is not None and not decoded.writes & pair}
        return pairs


def is_abort(decoded: Decoded | None) -> bool:
    """A trap from which the runtime's handler does not return. At the end of a function it ends the wavefront;
    compilers put code behind it where the trap may be switched off (gfx11)."""
    return decoded is not None and decoded.base == _TRAP and decoded.operands[0].value == _ABORT


def _branch_target(operand: Operand | None, labels: dict[str, int]) -> tuple[int | None, str]:
    text = operand.text.strip() if operand else ""
    if text in labels:
        return labels[text], ""
    if _SYMBOL.match(text):
        return None, f"branch to '{text}', which is not a label of this function"
    return None, f"branch to '{text}': an offset or expression is not followed"
