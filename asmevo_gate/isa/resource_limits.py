"""How many registers, bytes of LDS and waves a GPU has; data in ``data/targets.json`` (keys ``resources``,
``processor_resources``, ``kernel_descriptor``), where the sources are named too."""

from __future__ import annotations

from functools import cache

import msgspec

from asmevo_gate.isa.targets import Target, document


class RegisterFile(msgspec.Struct, frozen=True):
    """VGPRs of one SIMD as one wave size sees them, in registers of one lane each.

    ``file`` registers are shared by the waves of a SIMD; a wave gets a multiple of ``granule``; the kernel
    descriptor states multiples of ``encoding_granule``; one wave can name ``addressable`` of them.
    """

    file: int
    granule: int
    encoding_granule: int
    addressable: int


class SgprLimits(msgspec.Struct, frozen=True):
    """SGPR allocation.

    ``waves_by_count`` are steps (largest count, waves), the last count open (``None``); empty where SGPRs
    do not limit occupancy. ``extra`` registers follow the numbered ones: the largest entry in use counts,
    ``always`` is in use on every kernel. ``fixed`` is what every wave gets where that does not vary.
    """

    granule: int | None
    encoding_granule: int | None
    waves_by_count: tuple[tuple[int | None, int], ...]
    extra: dict[str, int]
    fixed: int | None = None


class SharingBlock(msgspec.Struct, frozen=True):
    """What the waves of a work-group share: a compute unit or a work-group processor (two compute units)."""

    eus: int
    """SIMDs."""
    lds_bytes: int
    barriers: int
    """Work-groups of more than one wave that can be resident."""


class ResourceLimits(msgspec.Struct, frozen=True):
    """All limits of a GPU. ``vgpr`` is keyed by wave size; ``sharing`` by ``cu`` and, where that mode exists,
    ``wgp``. ``lds_granule`` is the allocation granule in bytes."""

    vgpr: dict[int, RegisterFile]
    max_waves_per_eu: int
    sharing: dict[str, SharingBlock]
    sgpr: SgprLimits
    user_sgprs: int
    lds_granule: int


class DirectiveFacts(msgspec.Struct, frozen=True):
    """An ``.amdhsa_`` directive: ``default`` (a number, ``target`` when the target decides, ``required``),
    width of its field, and the targets that have it (``all`` or names of :attr:`Target.table`)."""

    default: int | str
    bits: int
    targets: str | tuple[str, ...]

    def exists_on(self, target: Target) -> bool:
        """True when the assembler accepts the directive for the target."""
        return self.targets == "all" or target.table in self.targets


def resource_limits(target: Target) -> ResourceLimits:
    """The limits of a target's processor."""
    return _limits(target.name, target.table)


@cache
def _limits(name: str, table: str) -> ResourceLimits:
    data = dict(document()["targets"][table]["resources"])
    data.update(document()["processor_resources"].get(name, {}))
    return msgspec.convert(data, ResourceLimits, strict=False)


@cache
def descriptor_directives() -> dict[str, DirectiveFacts]:
    """Every directive of an ``.amdhsa_kernel`` block, by its name without ``.amdhsa_``."""
    return msgspec.convert(document()["kernel_descriptor"], dict[str, DirectiveFacts])


def extra_sgprs(target: Target, vcc: bool, flat_scratch: bool, xnack: bool) -> int:
    """SGPRs that are allocated after the numbered ones (LLVM IsaInfo::getNumExtraSGPRs)."""
    extra = resource_limits(target).sgpr.extra
    in_use = {"vcc": vcc, "flat_scratch": flat_scratch, "xnack": xnack, "always": True}
    return max((count for name, count in extra.items() if in_use[name]), default=0)


def total_vgprs(target: Target, vgprs: int, agprs: int) -> int:
    """Registers that a kernel takes from the VGPR file (LLVM getTotalNumVGPRs): AGPRs follow the VGPRs at a
    multiple of four in a unified file, and have a file of their own otherwise."""
    if is_unified(target) and agprs:
        return (vgprs + 3) // 4 * 4 + agprs
    return max(vgprs, agprs)


def is_unified(target: Target) -> bool:
    """True when AGPRs and VGPRs are parts of one file (gfx90a and later)."""
    return str(target.facts.get("agpr_file", "")).startswith("unified")


def has_xnack(target: Target) -> bool:
    """True when XNACK replay may be on: the target has it and the target id does not switch it off."""
    return target.facts["xnack"] != "none" and target.features.get("xnack") != "-"
