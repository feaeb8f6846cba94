"""The rule ``kd.directive``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation


class DescriptorDirective(Rule):
    """A kernel descriptor block that the assembler rejects.

    What it does:
        Reports directives of an .amdhsa_kernel block that do not exist, that do not exist on the GPU, that stand twice
        or whose value does not fit their field; a required directive that is missing; a block that is not closed, and
        a second block for the same kernel.
    Why it matters:
        The file does not assemble. In sources for several GPUs that happens only when the kernel is built for the
        one that lacks the directive, often on the user's machine.
    Repair:
        Remove the directive, or put it under a condition on .amdgcn.gfx_generation_number; add what is required.
    Sources:
        AMDGPUUsage, ".amdhsa_kernel" directives table; LLVM AMDGPUAsmParser::ParseDirectiveAMDHSAKernel.
    """

    id = "kd.directive"
    title = "descriptor directive is missing, doubled or not for this GPU"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx900", kernel_text("  s_nop 0\n", "  .amdhsa_wavefront_size32 0\n"), line=10),
        Example("gfx1200", kernel_text("  s_nop 0\n", "  .amdhsa_ieee_mode 1\n"), line=10),
        Example("gfx90a", kernel_text("  s_nop 0\n"), line=6),
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_next_free_vgpr 16\n"), line=10),
    )
    good = (
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_wavefront_size32 0\n  .amdhsa_ieee_mode 1\n")),
        Example("gfx90a", kernel_text("  s_nop 0\n", "  .amdhsa_accum_offset 8\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """What the reader of the descriptor found, at its place."""
        descriptor = facts.kernel.descriptor
        for problem in descriptor.problems if descriptor is not None else ():
            yield Violation(
                place=problem.place,
                frames=problem.frames,
                message=problem.message,
                repair=problem.repair,
                context=problem.message,
            )
