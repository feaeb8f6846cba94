"""The rule ``cf.unreachable``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.reachability import subroutines_not_followed, unreachable_runs
from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import Block, Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class Unreachable(Rule):
    """Code that no path from the entry reaches.

    What it does:
        Reports the first instruction of each run of code that cannot be executed. Padding of s_nop, s_code_end and
        s_endpgm behind the end of a kernel is not code, nor is a place that only stops the wave (s_trap, s_sethalt, and
        branches within it). A subroutine that only computed calls can reach, and code whose address reachable code
        computes, count as reached (what it does is not followed). When an s_endpgm cuts off most of the kernel, the
        message says so: that is what a forgotten debugging stop looks like.
    Why it matters:
        A debugging s_endpgm that is left in turns the rest of the kernel off, and the kernel then silently does
        nothing. Other dead code hides a wrong branch.
    Repair:
        Remove the s_endpgm or the branch in front of the code, or the code itself.
    Sources:
        The control-flow graph; AMD ISA guides, S_ENDPGM and S_BRANCH.
    """

    id = "cf.unreachable"
    title = "code cannot be reached"
    family = "control-flow"
    severity = "warning"
    bad = (
        Example(
            "gfx942",
            "kernel:\n  s_endpgm\n  v_mov_b32 v0, 0\n  global_store_dword v0, v0, s[0:1]\n  s_endpgm\n",
            line=3,
        ),
        Example("gfx1100", "kernel:\n  s_branch .Lend\n  v_mov_b32 v0, 0\n.Lend:\n  s_endpgm\n", line=3),
    )
    good = (
        Example("gfx942", "kernel:\n  v_mov_b32 v0, 0\n  global_store_dword v0, v0, s[0:1]\n  s_endpgm\n  s_nop 0\n"),
        Example("gfx942", "kernel:\n  s_endpgm\n.Lparked:\n  s_trap 2\n  s_branch .Lparked\n"),
        Example("gfx1100", "kernel:\n  s_cbranch_scc1 .Lend\n  v_mov_b32 v0, 0\n.Lend:\n  s_endpgm\n  s_code_end\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first instruction of each run of unreachable blocks that holds more than padding."""
        kernel = facts.kernel
        called = {block.number for run in subroutines_not_followed(kernel) for block in run}
        for run in unreachable_runs(kernel):
            if not called.issuperset(block.number for block in run):
                yield from _violation(kernel, run)


_PADDING = frozenset(("s_nop", "s_code_end", "s_endpgm", "s_trap", "s_sethalt"))


def _violation(kernel: Function, run: tuple[Block, ...]) -> Iterable[Violation]:
    first, end = run[0].first, run[-1].end
    inside = {block.number for block in run}
    rounds = {block.end - 1 for block in run if block.successors and inside.issuperset(block.successors)}
    code = [one for one in kernel.instructions[first:end] if not _is_padding(one, rounds)]
    if not code:
        return
    before = kernel.instructions[first - 1] if first else None
    stops = before is not None and before.decoded is not None and before.decoded.classes & Op.TERMINATOR
    stopped_by_end = stops and before is not None and before.statement.name.startswith("s_endpgm")
    share = (end - first) / len(kernel.instructions)
    message = f"{len(code)} instructions from here on cannot be reached"
    if stopped_by_end and before is not None and share > 0.5:
        line = before.statement.place.line
        message += f": the s_endpgm of line {line} ends the wavefront; it looks like a debugging stop left in"
    yield Violation(
        place=kernel.instructions[first].statement.place,
        frames=kernel.instructions[first].statement.frames,
        message=message,
        repair="remove what stops control in front of it, or the dead code",
        producer=before,
        context=kernel.instructions[first].statement.text,
    )


def _is_padding(instruction: Instruction, rounds: set[int]) -> bool:
    """True for what fills space or stops a wave; ``rounds`` are the branches that stay in the run."""
    decoded = instruction.decoded
    if decoded is None:
        return False
    return decoded.base in _PADDING or (decoded.base == "s_branch" and instruction.index in rounds)
