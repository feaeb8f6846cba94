"""The rule ``kd.vgpr.under``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.registers import VGPR, register_name
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.register_use import first_use_from
from asmevo_gate.rules.rule import Example, Rule, Violation


class VgprUnder(Rule):
    """The descriptor gives the wave fewer VGPRs than the code uses.

    What it does:
        Compares every VGPR that the instructions name with what .amdhsa_next_free_vgpr (and .amdhsa_accum_offset)
        allocate, rounded up to the granule of the hardware. A register inside the rounding is only a warning, and so is
        one beyond the accumulation offset that the wave owns all the same, in a kernel without AGPRs.
    Why it matters:
        A register beyond the allocation belongs to another wave, or is the accumulation file: the kernel overwrites
        a neighbour's data, or reads it.
    Repair:
        Raise .amdhsa_next_free_vgpr (on GPUs with a unified file also .amdhsa_accum_offset) to the highest VGPR
        plus one.
    Sources:
        AMDGPUUsage, ".amdhsa_next_free_vgpr" and ".amdhsa_accum_offset"; LLVM AMDGPUBaseInfo getVGPRAllocGranule.
    """

    id = "kd.vgpr.under"
    title = "descriptor allocates fewer VGPRs than the code uses"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx1100", kernel_text("  v_mov_b32 v30, 0\n", "  .amdhsa_wavefront_size32 1\n", vgprs=20), line=3),
        Example("gfx90a", kernel_text("  v_mov_b32 v9, 0\n", "  .amdhsa_accum_offset 8\n", vgprs=16), line=3),
        Example("gfx900", kernel_text("  v_mov_b32 v7, 0\n", vgprs=6), line=3),
    )
    good = (
        Example("gfx1100", kernel_text("  v_mov_b32 v30, 0\n", vgprs=31)),
        Example("gfx90a", kernel_text("  v_mov_b32 v9, 0\n", "  .amdhsa_accum_offset 12\n", vgprs=12)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first use of a VGPR beyond what the wave gets."""
        resources = facts.resources
        limit, declared = resources.vgpr_addressable, resources.vgpr_declared
        if limit is None or declared is None:
            return
        beyond = first_use_from(facts.kernel, VGPR, limit)
        if beyond is not None:
            instruction, number = beyond
            own = _in_accumulation_part(facts)
            name, most = register_name(VGPR.start + number), resources.used.vgprs
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"{name} lies beyond .amdhsa_accum_offset {declared}, in the part for AGPRs; the kernel uses "
                "none, so it reaches a register of its own"
                if own
                else f"{name} is used, but the descriptor gives the wave only v0 to v{limit - 1} (granule included)",
                repair=f"set .amdhsa_accum_offset to {(most + 3) // 4 * 4}"
                if own
                else f"set .amdhsa_next_free_vgpr to at least {most}",
                severity="warning" if own else None,
            )
            return
        inside = first_use_from(facts.kernel, VGPR, declared)
        if inside is not None:
            instruction, number = inside
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"{register_name(VGPR.start + number)} is used, but .amdhsa_next_free_vgpr is {declared}; only "
                f"the rounding to {limit} registers makes this work",
                repair=f"set .amdhsa_next_free_vgpr to {resources.used.vgprs}",
                severity="warning",
            )


def _in_accumulation_part(facts: KernelFacts) -> bool:
    """The VGPRs beyond the accumulation offset are allocated to the wave, and no AGPR shares them."""
    descriptor, used = facts.kernel.descriptor, facts.resources.used
    if descriptor is None or used.agprs or "accum_offset" not in descriptor.values:
        return False
    return used.vgprs <= (descriptor.values.get("next_free_vgpr") or 0)
