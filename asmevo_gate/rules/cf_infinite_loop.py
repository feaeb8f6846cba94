"""The rule ``cf.infinite_loop``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asmevo_gate.analysis.loops import Loop, natural_loops
from asmevo_gate.analysis.reachability import reachable_blocks
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC, SCC, VCC
from asmevo_gate.program.model import Block, Function, Instruction
from asmevo_gate.program.reach import leading_to
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_STOPS = frozenset(("s_sethalt", "s_trap", "s_sendmsghalt", "s_rfe_b64"))
"""Instructions that hand the wave to somebody else: a loop around one of them is a way to stop."""
_MESSAGE = frozenset(("s_sendmsg",))


class InfiniteLoop(Rule):
    """A loop that a wave never leaves.

    What it does:
        Reports code from which no path leads to s_endpgm, a return or an unknown place (error), at the branch that
        closes the loop. Warns of a loop whose exits all depend on a scalar or vector comparison of registers that the
        loop does not change: it goes round once or for ever. Loops that halt the wave, call a trap handler, or wait for
        a message that returns its answer in EXEC are not reported.
    Why it matters:
        The wave never ends: the GPU hangs until the driver resets it, and every other program on it is lost.
    Repair:
        Give the loop an exit, or change its counter inside it.
    Sources:
        The control-flow graph; AMD ISA guides, S_ENDPGM ("the wavefront is terminated"); AMD ROCr runtime, trap handler
        (MSG_GET_DOORBELL returns in EXEC on gfx9 and gfx10).
    """

    id = "cf.infinite_loop"
    title = "loop never ends"
    family = "control-flow"
    severity = "error"
    bad = (
        Example(
            "gfx900",
            "kernel:\n  s_cbranch_scc1 .Lend\n.Lagain:\n  s_nop 0\n  s_branch .Lagain\n.Lend:\n  s_endpgm\n",
            line=5,
        ),
        Example(
            "gfx1100",
            "kernel:\n.Lagain:\n  s_nop 0\n  s_cmp_lt_u32 s4, s5\n  s_cbranch_scc1 .Lagain\n  s_endpgm\n",
            line=5,
        ),
    )
    good = (
        Example(
            "gfx1100",
            "kernel:\n.Lagain:\n  s_add_u32 s4, s4, 1\n  s_cmp_lt_u32 s4, s5\n  s_cbranch_scc1 .Lagain\n  s_endpgm\n",
        ),
        Example("gfx1100", "kernel:\n  s_trap 2\n.Lhalt:\n  s_sethalt 5\n  s_branch .Lhalt\n"),
        Example(
            "gfx900",
            "kernel:\n  s_mov_b32 exec_lo, 0x80000000\n  s_sendmsg sendmsg(MSG_GET_DOORBELL)\n.Lwait:\n  s_nop 7\n"
            "  s_bitcmp0_b32 exec_lo, 31\n  s_cbranch_scc0 .Lwait\n  s_endpgm\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Regions without an exit, then loops without a changing condition."""
        kernel = facts.kernel
        open_ends = _open_ends(kernel)
        ends = (block.number for block in kernel.blocks if not block.successors)
        endless = sorted(reachable_blocks(kernel) - leading_to(kernel.blocks, (*open_ends, *ends)))
        if endless:
            last = kernel.instructions[kernel.blocks[endless[-1]].end - 1]
            yield _violation(last, "no path leads from here to s_endpgm: the wave never ends", "give the loop an exit")
        by_itself = EXEC if any(_is_answered_in_exec(decoded) for _, decoded in kernel.named(_MESSAGE)) else 0
        for loop in natural_loops(kernel.blocks):
            if loop.header not in endless:
                yield from _unchanged(kernel, loop, open_ends, by_itself)


def _violation(instruction: Instruction, message: str, repair: str, warning: bool = False) -> Violation:
    return Violation(
        place=instruction.statement.place,
        frames=instruction.statement.frames,
        message=message,
        repair=repair,
        severity="warning" if warning else None,
    )


def _open_ends(kernel: Function) -> set[int]:
    """Blocks in which the wave may leave the function or be stopped."""
    found = {block.number for block in kernel.blocks if block.leaves or block.falls_off}
    stops = [one for one, _ in (*kernel.of(Op.CALL), *kernel.named(_STOPS))]
    return found | {kernel.block_of(one.index).number for one in (*stops, *kernel.not_understood)}


def _unchanged(kernel: Function, loop: Loop, open_ends: set[int], by_itself: int) -> Iterator[Violation]:
    """The exit branches of a loop, when none of them can come to another decision in a later round. ``by_itself`` are
    the registers that may change whatever the loop does."""
    if not open_ends.isdisjoint(loop.blocks):
        return
    blocks = [kernel.blocks[number] for number in sorted(loop.blocks)]
    exits = [block for block in blocks if not loop.blocks.issuperset(block.successors)]
    compared = 0
    for block in exits:
        comparison = _comparison(kernel, block)
        if comparison is None or comparison.of(Op.SMEM):
            return
        compared |= comparison.reads & ~comparison.implicit_writes
    changes = compared & by_itself or any(kernel.uses_of_blocks[block.number].writes & compared for block in blocks)
    if not exits or changes:
        return
    branch = kernel.instructions[exits[-1].end - 1]
    yield _violation(
        branch,
        "the loop does not change what its exit depends on: it goes round once or for ever",
        "change the counter inside the loop",
        warning=True,
    )


def _comparison(kernel: Function, block: Block) -> Decoded | None:
    """The comparison in the same block that decides the block's branch."""
    branch = kernel.instructions[block.end - 1].decoded
    if branch is None or not branch.of(Op.CONDITIONAL):
        return None
    tested = SCC if "scc" in branch.base else VCC if "vcc" in branch.base else EXEC
    for instruction in reversed(kernel.instructions[block.first : block.end - 1]):
        decoded = instruction.decoded
        if decoded is None:
            return None
        if decoded.writes & tested:
            plain = decoded.base.startswith(("s_cmp", "s_bitcmp")) or (decoded.of(Op.VOPC) and tested == VCC)
            return decoded if plain else None
    return None


def _is_answered_in_exec(decoded: Decoded) -> bool:
    """True for the message whose answer the hardware writes to EXEC some time later."""
    return "MSG_GET_DOORBELL" in decoded.operands[0].text
