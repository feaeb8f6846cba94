"""The rule ``kd.reserve``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.resource_limits import extra_sgprs, resource_limits
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_NO_VCC = "  .amdhsa_reserve_vcc 0\n  .amdhsa_reserve_flat_scratch 0\n"
_COMPARE = "  s_mov_b32 s15, 0\n  v_cmp_gt_u32 vcc, 9, v0\n"


class Reserve(Rule):
    """VCC, FLAT_SCRATCH or XNACK_MASK are used, but the descriptor leaves no room for them.

    What it does:
        On GPUs that allocate SGPRs per wave (gfx9), adds what the code uses of the numbered SGPRs and of VCC,
        FLAT_SCRATCH and XNACK_MASK, and reports when the descriptor allocates less, granule included.
    Why it matters:
        These registers are the last ones of the wave's allocation. Without room of their own they are the same as
        numbered SGPRs that the code uses, and each comparison overwrites one of them.
    Repair:
        Remove .amdhsa_reserve_vcc 0 or .amdhsa_reserve_flat_scratch 0, or raise .amdhsa_next_free_sgpr.
    Sources:
        AMDGPUUsage, ".amdhsa_reserve_vcc"; LLVM AMDGPUBaseInfo getNumExtraSGPRs; Vega ISA guide, "SGPR Allocation and
        Storage" (VCC is stored in the highest two SGPRs of the wave).
    """

    id = "kd.reserve"
    title = "no SGPRs are reserved for VCC, FLAT_SCRATCH or XNACK_MASK"
    family = "descriptor"
    severity = "error"
    bad = (Example("gfx900:xnack-", kernel_text(_COMPARE, _NO_VCC, sgprs=16), line=10),)
    good = (
        Example("gfx900:xnack-", kernel_text(_COMPARE, sgprs=16)),
        Example("gfx900:xnack-", kernel_text(_COMPARE, _NO_VCC, sgprs=18)),
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc_lo, 9, v0\n", "  .amdhsa_reserve_vcc 0\n", sgprs=16)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Used registers with their extras against the allocation."""
        kernel, resources = facts.kernel, facts.resources
        used, allocated = resources.used, resources.sgpr_allocated
        descriptor = kernel.descriptor
        if descriptor is None or allocated is None or resource_limits(kernel.target).sgpr.granule is None:
            return
        extras = extra_sgprs(kernel.target, used.vcc, used.flat_scratch, used.xnack_mask)
        if used.sgprs > allocated or used.sgprs + extras <= allocated:
            return
        place = descriptor.places.get("next_free_sgpr", descriptor.opening)
        if place is None:
            return
        yield Violation(
            place=place.place,
            frames=place.frames,
            message=f"the code uses {used.sgprs} numbered SGPRs and {extras} for VCC and the like, but only "
            f"{allocated} are allocated",
            repair="do not set .amdhsa_reserve_vcc or .amdhsa_reserve_flat_scratch to 0",
        )
