"""The rule ``perf.over_allocation``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.occupancy import waves_by_vgprs
from asmevo_gate.isa.resource_limits import resource_limits, total_vgprs
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation


class OverAllocation(Rule):
    """The descriptor allocates VGPRs that the code does not use, and waves are lost by it.

    What it does:
        Compares the waves per SIMD that the allocated VGPRs allow with those that the used ones would, in kernels
        whose registers are all known (no calls, no indexed registers). With a base version it warns when the gap is
        new or wider than before; without one it notes it (info). Waves that another limit takes do not count.
    Why it matters:
        VGPRs are handed out by the descriptor, not by the code: unused ones cost occupancy all the same.
    Repair:
        Set .amdhsa_next_free_vgpr (and .amdhsa_accum_offset) to what the code uses.
    Sources:
        AMDGPUUsage, ".amdhsa_next_free_vgpr"; LLVM AMDGPUBaseInfo getNumWavesPerEUWithNumVGPRs.
    """

    id = "perf.over_allocation"
    title = "allocated VGPRs that are not used cost waves"
    family = "performance"
    severity = "warning"
    bad = (
        Example("gfx906", kernel_text("  v_mov_b32 v7, 0\n", vgprs=64), line=8),
        Example(
            "gfx1100",
            kernel_text("  v_mov_b32 v7, 0\n", vgprs=200),
            line=8,
            base=kernel_text("  v_mov_b32 v7, 0\n", vgprs=8),
        ),
    )
    good = (
        Example("gfx906", kernel_text("  v_mov_b32 v7, 0\n", vgprs=24)),
        Example(
            "gfx906",
            kernel_text("  v_mov_b32 v7, 0\n", vgprs=64),
            base=kernel_text("  v_mov_b32 v7, 0\n", vgprs=64),
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The gap between allocated and used, against the base."""
        gap = _lost_waves(facts)
        before = _lost_waves(facts.base) if facts.base is not None else 0
        if gap <= before:
            return
        resources, descriptor = facts.resources, facts.kernel.descriptor
        place = descriptor.places.get("next_free_vgpr", descriptor.opening) if descriptor is not None else None
        if place is None or resources.occupancy is None:
            return
        used = total_vgprs(facts.kernel.target, resources.used.vgprs, resources.used.agprs)
        waves = resources.occupancy.waves
        was = f"{before} waves were lost before" if facts.base is not None else "no base to compare with"
        yield Violation(
            place=place.place,
            frames=place.frames,
            message=f"{resources.vgpr_total} VGPRs are allocated and {used} used: {waves} waves per SIMD instead of "
            f"{waves + gap} ({was})",
            repair=f"set .amdhsa_next_free_vgpr to {used}",
            severity=None if facts.base is not None else "info",
            context="over-allocation",
        )


def _lost_waves(facts: KernelFacts) -> int:
    """Waves per SIMD that the unused registers cost; 0 where the use is not known."""
    resources, kernel = facts.resources, facts.kernel
    if resources.occupancy is None or not resources.used.complete:
        return 0
    used = total_vgprs(kernel.target, resources.used.vgprs, resources.used.agprs)
    possible = waves_by_vgprs(resource_limits(kernel.target), kernel.wave_size, max(used, 1))
    others = min((waves for name, waves in resources.occupancy.limits.items() if name != "vgpr"), default=possible)
    return max(min(possible, others) - resources.occupancy.waves, 0)
