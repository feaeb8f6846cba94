"""The rule ``perf.occupancy_step``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.occupancy import most_vgprs
from asmevo_gate.analysis.resources import Resources
from asmevo_gate.isa.registers import AGPR, VGPR
from asmevo_gate.isa.resource_limits import resource_limits
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_NEAR = 4
"""A kernel without a base is reported when this many registers fewer would fit one more wave."""


def _kernel(vgprs: int, highest: int) -> str:
    return (
        f".text\nkernel:\n  v_mov_b32 v0, 0\n  v_mov_b32 v{highest}, v0\n  global_store_dword v[0:1], v{highest}, off\n"
        f"  s_endpgm\n.rodata\n.amdhsa_kernel kernel\n  .amdhsa_next_free_vgpr {vgprs}\n"
        "  .amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n"
    )


class OccupancyStep(Rule):
    """A kernel lost waves per SIMD, or is a few registers above the next step.

    What it does:
        Compares occupancy with the base version and warns when it fell, naming the resource that limits it now and
        the first use of the register that crossed the step. Without a base it only notes (info) a kernel that would
        hold one more wave per SIMD with at most four VGPRs fewer.
    Why it matters:
        VGPRs are handed out in granules, so one register too many can cost a whole wave per SIMD, and with it the
        latency hiding of memory-bound kernels.
    Repair:
        Bring the kernel back below the number of registers that the finding names, or accept the step knowingly.
    Sources:
        AMDGPUUsage, code object COMPUTE_PGM_RSRC1 (granulated VGPR count); LLVM AMDGPUBaseInfo
        getNumWavesPerEUWithNumVGPRs.
    """

    id = "perf.occupancy_step"
    title = "fewer waves per SIMD than before"
    family = "performance"
    severity = "warning"
    bad = (
        Example("gfx906", _kernel(65, 64), line=4, base=_kernel(64, 63)),
        Example("gfx906", _kernel(65, 64), line=4),
    )
    good = (
        Example("gfx906", _kernel(64, 63), base=_kernel(60, 59)),
        Example("gfx906", _kernel(24, 23)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Occupancy against the base, or the distance to the next step without one."""
        now = facts.resources
        if now.occupancy is None or now.vgpr_total is None:
            return
        before = facts.base.resources if facts.base is not None else None
        waves = now.occupancy.waves
        limits = resource_limits(facts.kernel.target)
        wave_size = facts.kernel.wave_size
        if before is not None:
            if before.occupancy is None or before.occupancy.waves <= waves:
                return
            limiters = now.occupancy.limited_by
            reasons = " and ".join(_reason(limiter, now, before) for limiter in limiters)
            message = f"occupancy fell from {before.occupancy.waves} to {waves} waves per SIMD, limited by {reasons}"
            most = None
            if "vgpr" in limiters:
                most = most_vgprs(limits, wave_size, before.occupancy.waves)
                message += f"; {before.occupancy.waves} waves need at most {most} VGPRs"
            yield _violation(facts, most, message, None)
            return
        if now.occupancy.limits.get("vgpr") != waves or waves >= now.occupancy.limits["hardware"]:
            return
        most = most_vgprs(limits, wave_size, waves + 1)
        if 0 < now.vgpr_total - most <= _NEAR:
            message = f"{now.vgpr_total} VGPRs give {waves} waves per SIMD; {most} would give {waves + 1}"
            yield _violation(facts, most, message, "info")


def _reason(limiter: str, now: Resources, before: Resources) -> str:
    """What holds the waves back, with its size now and before."""
    if limiter == "vgpr":
        return f"{now.vgpr_total} VGPRs (before {before.vgpr_total})"
    if limiter == "sgpr":
        return f"{now.sgpr_allocated} SGPRs (before {before.sgpr_allocated})"
    if limiter == "lds":
        return f"{now.lds_bytes} bytes of LDS (before {before.lds_bytes})"
    return "the size of the work-group"


def _violation(facts: KernelFacts, most: int | None, message: str, severity: Severity | None) -> Violation:
    instruction = _first_use_from(facts, most) if most is not None else None
    instruction = instruction or facts.kernel.instructions[0]
    return Violation(
        place=instruction.statement.place,
        frames=instruction.statement.frames,
        message=message,
        repair="use fewer registers, or reuse one that is free" if most is not None else "",
        severity=severity,
        context="occupancy",
    )


def _first_use_from(facts: KernelFacts, limit: int) -> Instruction | None:
    """The first instruction that names a vector register with this number or a higher one."""
    above = VGPR.mask & ~((1 << (VGPR.start + limit)) - 1)
    agprs = AGPR.mask
    for instruction in facts.kernel.instructions:
        decoded = instruction.decoded
        if decoded is not None and (decoded.reads | decoded.writes) & above:
            return instruction
    for instruction in facts.kernel.instructions:
        decoded = instruction.decoded
        if decoded is not None and (decoded.reads | decoded.writes) & agprs:
            return instruction
    return None
