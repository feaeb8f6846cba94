"""The rule ``kd.accum_offset``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.registers import AGPR
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.register_use import first_use_from
from asmevo_gate.rules.rule import Example, Rule, Violation


class AccumOffset(Rule):
    """The descriptor gives the wave fewer AGPRs than the code uses.

    What it does:
        On GPUs with accumulation registers, compares every AGPR that the instructions name with the allocation: in a
        unified file the registers from .amdhsa_accum_offset up to .amdhsa_next_free_vgpr, granule included.
    Why it matters:
        With .amdhsa_accum_offset equal to .amdhsa_next_free_vgpr the wave owns no AGPR at all: matrix instructions
        accumulate into registers of another wave.
    Repair:
        Set .amdhsa_next_free_vgpr to .amdhsa_accum_offset plus the number of AGPRs.
    Sources:
        AMDGPUUsage, ".amdhsa_accum_offset"; CDNA2 ISA guide 3.6 "GPRs" (unified register file).
    """

    id = "kd.accum_offset"
    title = "descriptor allocates fewer AGPRs than the code uses"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx950", kernel_text("  v_accvgpr_write_b32 a0, 0\n", "  .amdhsa_accum_offset 8\n", vgprs=8), line=3),
        Example("gfx908", kernel_text("  v_accvgpr_write_b32 a9, 0\n", vgprs=8), line=3),
    )
    good = (
        Example("gfx950", kernel_text("  v_accvgpr_write_b32 a3, 0\n", "  .amdhsa_accum_offset 8\n", vgprs=12)),
        Example("gfx908", kernel_text("  v_accvgpr_write_b32 a7, 0\n", vgprs=8)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first use of an AGPR beyond what the wave gets."""
        limit = facts.resources.agpr_addressable
        if limit is None or not facts.kernel.target.facts["agpr"]:
            return
        found = first_use_from(facts.kernel, AGPR, limit)
        if found is None:
            return
        instruction, number = found
        owns = f"only a0 to a{limit - 1}" if limit else "no AGPR"
        need = facts.resources.used.agprs
        yield Violation(
            place=instruction.statement.place,
            frames=instruction.statement.frames,
            message=f"a{number} is used, but the descriptor gives the wave {owns}",
            repair=f"make room for {need} AGPRs: .amdhsa_next_free_vgpr = .amdhsa_accum_offset + {need}"
            if facts.kernel.descriptor and "accum_offset" in facts.kernel.descriptor.values
            else f"set .amdhsa_next_free_vgpr to at least {need}",
        )
