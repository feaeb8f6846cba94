"""The rule ``md.work_group``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from asmevo_gate.analysis.resources import ANY_WORK_GROUP
from asmevo_gate.isa.resource_limits import resource_limits
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.metadata_place import metadata_place
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_REQUIRED, _MOST = ".reqd_workgroup_size", ".max_flat_workgroup_size"


def _sizes(most: int, required: str = "") -> str:
    required = f"    .reqd_workgroup_size: [ {required} ]\n" if required else ""
    return f"    .max_flat_workgroup_size: {most}\n{required}"


class WorkGroupSize(Rule):
    """A work-group size that contradicts itself, or that cannot be resident with the registers of the kernel.

    What it does:
        Reports .max_flat_workgroup_size above 1,024 or below 1, a .reqd_workgroup_size whose product is above it or
        zero, and a required work-group whose waves do not fit into the VGPR file of a compute unit (work-group
        processor) all at once. Where only the greatest size does not fit, it is an info: smaller ones do.
    Why it matters:
        All waves of a work-group must be resident together. A dispatch that cannot be is refused by the runtime, or
        waits for ever.
    Repair:
        Correct the sizes, or use fewer VGPRs (LLVM: amdgpu_flat_work_group_size and amdgpu-num-vgpr).
    Sources:
        AMDGPUUsage, "Code Object V3 Kernel Metadata Map"; LLVM AMDGPUBaseInfo (getMaxFlatWorkGroupSize,
        getTotalNumVGPRs, getWavesPerEUForWorkGroup).
    """

    id = "md.work_group"
    title = "work-group size is impossible"
    family = "abi"
    severity = "error"
    bad = (
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_sizes(64, "16, 16, 1")), line=18),
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_sizes(2048)), line=17),
        Example("gfx906", kernel_text("  s_nop 0\n", metadata=_sizes(1024, "1024, 1, 1"), vgprs=128), line=8),
    )
    good = (
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_sizes(256, "16, 16, 1"))),
        Example("gfx906", kernel_text("  s_nop 0\n", metadata=_sizes(1024, "1024, 1, 1"), vgprs=64)),
        Example("gfx1100", kernel_text("  s_nop 0\n", metadata=_sizes(1024, "1024, 1, 1"), vgprs=168)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Contradictions of the metadata, then the size against the registers."""
        metadata = facts.kernel.metadata
        if metadata is None:
            return
        wrong = False
        for key, message in _contradictions(metadata.values.get(_REQUIRED), metadata.values.get(_MOST)):
            wrong = True
            yield Violation(
                place=metadata_place(facts, metadata, key), message=message, repair="correct the sizes", context=message
            )
        if not wrong:
            yield from _not_resident(facts)


def _contradictions(required: object, most: object) -> Iterator[tuple[str, str]]:
    limit = ANY_WORK_GROUP[1]
    if isinstance(most, int) and not 1 <= most <= limit:
        yield _MOST, f"{_MOST} is {most}, but a work-group has 1 to {limit:,} work-items"
    if not isinstance(required, list) or not all(isinstance(size, int) for size in required):
        return
    product = prod(required)
    if product < 1 or product > limit:
        yield _REQUIRED, f"a work-group of {product:,} work-items is required, but 1 to {limit:,} are possible"
    elif isinstance(most, int) and 1 <= most < product:
        yield _REQUIRED, f"a work-group of {product} work-items is required, but at most {most} are allowed ({_MOST})"


def _not_resident(facts: KernelFacts) -> Iterator[Violation]:
    """A work-group whose waves need more VGPRs than the SIMDs of the sharing block have (whole waves a SIMD)."""
    resources, kernel = facts.resources, facts.kernel
    limits = resource_limits(kernel.target)
    file = limits.vgpr.get(kernel.wave_size)
    if file is None or resources.work_group is None or resources.vgpr_total is None or kernel.descriptor is None:
        return
    block = limits.sharing.get("wgp") or limits.sharing["cu"]
    allocated = -(-max(resources.vgpr_total, 1) // file.granule) * file.granule
    room = file.file // allocated * block.eus
    least, most = (-(-size // kernel.wave_size) for size in resources.work_group)
    if most <= room:
        return
    severity: Severity | None = None if least > room else "info"
    place = kernel.descriptor.places.get("next_free_vgpr", kernel.descriptor.opening)
    if place is None:
        return
    yield Violation(
        place=place.place,
        frames=place.frames,
        message=f"a work-group of {resources.work_group[1]} work-items has {most} waves, but with {allocated} VGPRs a "
        f"wave only {room} can be resident together",
        repair=f"use fewer VGPRs, or at most {room * kernel.wave_size} work-items",
        severity=severity,
        context="work-group not resident",
    )
