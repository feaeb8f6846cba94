"""The rule ``kd.sgpr.under``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.registers import SGPR
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.register_use import first_use_from
from asmevo_gate.rules.rule import Example, Rule, Violation


class SgprUnder(Rule):
    """The descriptor gives the wave fewer SGPRs than the code uses.

    What it does:
        On GPUs that allocate SGPRs per wave (gfx9), compares every numbered SGPR that the instructions name with
        .amdhsa_next_free_sgpr and the extra registers for VCC, FLAT_SCRATCH and XNACK_MASK, rounded up to the granule.
        A register that is beyond the declaration and only works by the rounding, or because it is one of those extra
        registers, is a warning.
    Why it matters:
        Reads beyond the allocation give zero or another wave's value, writes are dropped or hit another wave.
    Repair:
        Raise .amdhsa_next_free_sgpr to the highest SGPR plus one.
    Sources:
        AMDGPUUsage, ".amdhsa_next_free_sgpr" and ".amdhsa_reserve_vcc"; LLVM AMDGPUBaseInfo getNumExtraSGPRs.
    """

    id = "kd.sgpr.under"
    title = "descriptor allocates fewer SGPRs than the code uses"
    family = "descriptor"
    severity = "error"
    bad = (Example("gfx90a", kernel_text("  s_mov_b32 s60, 0\n", "  .amdhsa_accum_offset 4\n", sgprs=16), line=3),)
    good = (
        Example("gfx90a", kernel_text("  s_mov_b32 s15, 0\n", "  .amdhsa_accum_offset 4\n", sgprs=16)),
        Example("gfx1100", kernel_text("  s_mov_b32 s60, 0\n", sgprs=16)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first use of an SGPR beyond what the wave gets."""
        descriptor = facts.kernel.descriptor
        allocated = facts.resources.sgpr_allocated
        declared = descriptor.values.get("next_free_sgpr") if descriptor else None
        if allocated is None or declared is None:
            return
        for limit, severity in ((allocated, None), (declared, "warning")):
            found = first_use_from(facts.kernel, SGPR, limit)
            if found is None or (severity and allocated >= SGPR.count):
                continue
            instruction, number = found
            why = "; only the rounding of the allocation makes this work" if severity else ""
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"s{number} is used, but .amdhsa_next_free_sgpr is {declared}, "
                f"which allocates {allocated}{why}",
                repair=f"set .amdhsa_next_free_sgpr to {facts.resources.used.sgprs}",
                severity="warning" if severity else None,
            )
            return
