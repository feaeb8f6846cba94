"""The rule ``kd.limit``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asmevo_gate.analysis.initial_state import user_sgpr_count
from asmevo_gate.analysis.occupancy import round_up
from asmevo_gate.isa.resource_limits import has_xnack, is_unified, resource_limits
from asmevo_gate.program.descriptor import Descriptor
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_Breach = tuple[str, str, str, Severity | None]
"""Directive, message, repair, severity."""


class DescriptorLimit(Rule):
    """The descriptor asks for more than the GPU has.

    What it does:
        Checks the values of the .amdhsa_kernel block against the GPU: VGPRs and SGPRs that one wave can address, LDS
        of a work-group, the 16 (gfx1250: 32) user SGPRs, .amdhsa_user_sgpr_count against the user SGPRs that are
        enabled, the range and step of .amdhsa_accum_offset, and .amdhsa_reserve_xnack_mask against the target id.
    Why it matters:
        The assembler rejects some of these values; the others pass and the dispatch is refused, or the kernel
        starts with its registers shifted.
    Repair:
        Stay within the limit that the finding names.
    Sources:
        AMDGPUUsage, ".amdhsa_kernel" directives table; LLVM AMDGPUBaseInfo (IsaInfo: addressable registers, LDS size);
        LLVM AMDGPUAsmParser::ParseDirectiveAMDHSAKernel.
    """

    id = "kd.limit"
    title = "descriptor value is beyond what the GPU has"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx900", kernel_text("  s_nop 0\n", vgprs=257), line=8),
        Example("gfx942", kernel_text("  s_nop 0\n", "  .amdhsa_accum_offset 6\n"), line=10),
        Example("gfx90a", kernel_text("  s_nop 0\n", "  .amdhsa_accum_offset 16\n", vgprs=8), line=10),
        Example("gfx906", kernel_text("  s_nop 0\n", "  .amdhsa_group_segment_fixed_size 65540\n"), line=10),
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_user_sgpr_count 1\n"), line=10),
    )
    good = (
        Example("gfx942", kernel_text("  s_nop 0\n", "  .amdhsa_accum_offset 256\n", vgprs=512)),
        Example(
            "gfx950",
            kernel_text("  s_nop 0\n", "  .amdhsa_accum_offset 8\n  .amdhsa_group_segment_fixed_size 163840\n"),
        ),
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_user_sgpr_count 15\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each value that is beyond a limit, at its directive."""
        descriptor = facts.kernel.descriptor
        if descriptor is None or descriptor.opening is None:
            return
        for name, message, repair, severity in _breaches(facts, descriptor):
            place = descriptor.places.get(name, descriptor.opening)
            yield Violation(
                place=place.place,
                frames=place.frames,
                message=message,
                repair=repair,
                severity=severity,
                context=message,
            )


def _breaches(facts: KernelFacts, descriptor: Descriptor) -> Iterator[_Breach]:
    target, values = facts.kernel.target, descriptor.values
    limits = resource_limits(target)
    file = limits.vgpr.get(facts.kernel.wave_size)
    vgprs = values.get("next_free_vgpr")
    if file and vgprs is not None and vgprs > file.addressable:
        yield _above("next_free_vgpr", vgprs, file.addressable, f"VGPRs a wave of {target.name} can have", None)
    if file and vgprs is not None and is_unified(target):
        yield from _accum_offset(values, round_up(max(vgprs, 1), file.granule))
    sgprs, most = values.get("next_free_sgpr"), int(target.facts["addressable_sgpr"])
    if sgprs is not None and sgprs > most:
        yield _above("next_free_sgpr", sgprs, most, f"SGPRs that can be named on {target.name}", None)
    lds = values.get("group_segment_fixed_size", 0)
    if lds > int(target.facts["lds_bytes"]):
        what = f"bytes of LDS a work-group can have on {target.name}"
        yield _above("group_segment_fixed_size", lds, int(target.facts["lds_bytes"]), what, None)
    yield from _user_sgprs(facts, descriptor, limits.user_sgprs)
    mask = values.get("reserve_xnack_mask")
    if mask is not None and "xnack" in target.features and mask != int(has_xnack(target)):
        sign = target.features["xnack"]
        yield (
            "reserve_xnack_mask",
            f".amdhsa_reserve_xnack_mask {mask} contradicts the target id, which has xnack{sign}",
            "remove the directive: its default follows the target id",
            None,
        )


def _above(name: str, value: int, most: int, what: str, severity: Severity | None) -> _Breach:
    return name, f".amdhsa_{name} is {value:,}, but {most:,} is the number of {what}", f"at most {most:,}", severity


def _accum_offset(values: dict[str, int], allocated: int) -> Iterator[_Breach]:
    """LLVM: "accum_offset should be in range [4..256] in increments of 4" and not exceed the total."""
    offset = values.get("accum_offset")
    if offset is None:
        return
    name = "accum_offset"
    if not 4 <= offset <= 256 or offset % 4:
        yield name, f".amdhsa_accum_offset {offset} is not a multiple of 4 from 4 to 256", "round it up", None
    elif offset > allocated:
        yield (
            name,
            f".amdhsa_accum_offset {offset} is beyond the {allocated} registers that .amdhsa_next_free_vgpr allocates",
            "raise .amdhsa_next_free_vgpr, or lower the offset",
            None,
        )


def _user_sgprs(facts: KernelFacts, descriptor: Descriptor, most: int) -> Iterator[_Breach]:
    enabled = user_sgpr_count(facts.kernel)
    declared = descriptor.values.get("user_sgpr_count")
    if enabled is not None and declared is not None and declared < enabled:
        yield (
            "user_sgpr_count",
            f".amdhsa_user_sgpr_count is {declared}, but the enabled user SGPRs need {enabled}",
            "remove the directive, or raise it",
            None,
        )
    count = declared if declared is not None else enabled
    if count is not None and count > most:
        yield (
            "user_sgpr_count",
            f"{count} user SGPRs are asked for, the hardware sets up {most}",
            "enable fewer of them, or preload fewer arguments",
            None,
        )
