"""The rule ``cf.falls_off``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.reachability import reachable_blocks
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class FallsOff(Rule):
    """Control runs past the last instruction of a kernel.

    What it does:
        Reports the last instruction of a function when it can be executed and neither ends the wavefront, nor
        jumps, nor returns. The abort of a compiler (s_trap 2) ends the wavefront.
    Why it matters:
        The wavefront executes whatever lies behind the kernel in memory: padding, another kernel, or data. The usual
        result is a GPU hang or an illegal-instruction fault.
    Repair:
        End the kernel with s_endpgm, or a device function with s_setpc_b64.
    Sources:
        AMD ISA guides, program flow control ("Program control": every program ends with S_ENDPGM).
    """

    id = "cf.falls_off"
    title = "control runs past the end of the kernel"
    family = "control-flow"
    severity = "error"
    bad = (
        Example("gfx90a", "kernel:\n  v_mov_b32 v0, 0\n", line=2),
        Example("gfx1200", "kernel:\n  s_cbranch_scc0 .Lend\n  s_endpgm\n.Lend:\n  s_nop 0\n", line=5),
        Example("gfx1030", "kernel:\n  s_nop 0\n.fill 48, 4, 0xbf9f0000\n", line=2),
    )
    good = (
        Example("gfx90a", "kernel:\n  v_mov_b32 v0, 0\n  s_endpgm\n"),
        Example("gfx942", "kernel:\n  s_cbranch_scc0 .Ltrap\n  s_endpgm\n.Ltrap:\n  s_trap 2\n"),
        Example("gfx1200", "kernel:\n.Lagain:\n  s_cbranch_scc0 .Lagain\n  s_endpgm\n  s_nop 0\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The last instruction of each reachable block that runs off the end."""
        kernel = facts.kernel
        reachable = reachable_blocks(kernel)
        for block in kernel.blocks:
            if block.falls_off and block.number in reachable:
                last = _last_before_padding(kernel, block.end - 1)
                if last.decoded is None:
                    # Not understood: it may be what ends the wavefront.
                    continue
                yield Violation(
                    place=last.statement.place,
                    frames=last.statement.frames,
                    message=f"'{kernel.name}' runs past its last instruction: nothing ends the wavefront here",
                    repair="add s_endpgm after it",
                    context=last.statement.text,
                )


_PADDING = frozenset(text for word in (0xBF9F0000, 0xBF800000) for text in (str(word), hex(word)))
"""Machine words of s_code_end and s_nop 0, with which compilers pad code for the instruction prefetcher."""


def _last_before_padding(kernel: Function, index: int) -> Instruction:
    """The instruction, or the last one before the padding that it is."""
    while index and _is_padding(kernel.instructions[index]):
        index -= 1
    return kernel.instructions[index]


def _is_padding(instruction: Instruction) -> bool:
    """``.fill COUNT, 4, WORD`` with one of the words that pad."""
    statement = instruction.statement
    parts = [part.strip() for part in statement.rest.split(",")]
    return statement.name == ".fill" and len(parts) == 3 and parts[2] in _PADDING
