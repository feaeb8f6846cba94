"""Registers, LDS and scratch that a kernel uses and allocates, and the occupancy that follows."""

from __future__ import annotations

import msgspec

from asmevo_gate.analysis.occupancy import Demand, Occupancy, occupancy, round_up
from asmevo_gate.isa.registers import AGPR, PAIRS, SGPR, SPECIAL, VCC, VGPR, Bank, bits
from asmevo_gate.isa.resource_limits import (
    extra_sgprs,
    is_unified,
    resource_limits,
)
from asmevo_gate.program.descriptor import Descriptor, directive_value
from asmevo_gate.program.model import Function

ANY_WORK_GROUP = (1, 1024)
"""Sizes of a work-group that a kernel without metadata may be launched with."""
REASONS = 8
"""Lines that are named one by one when they are not understood."""
_FLAT_SCRATCH = bits(SPECIAL[PAIRS["flat_scratch"]], 2)
_XNACK_MASK = bits(SPECIAL[PAIRS["xnack_mask"]], 2)


class Usage(msgspec.Struct, frozen=True):
    """Registers that the instructions of one function name: the highest number plus one, per file.

    ``complete`` is ``False`` when an instruction could not be decoded, a register is indexed at run time,
    or a callee uses registers of its own: the counts are then a lower bound, and ``reasons`` say why.
    """

    vgprs: int
    agprs: int
    sgprs: int
    vcc: bool
    flat_scratch: bool
    xnack_mask: bool
    complete: bool
    reasons: tuple[str, ...]


class Resources(msgspec.Struct, frozen=True):
    """Resources of a kernel. ``None`` is "not known"; ``notes`` say why.

    ``*_declared`` is what the descriptor asks for (VGPRs: architectural ones, without AGPRs; SGPRs: with
    VCC and other extras), ``*_allocated`` what a wave gets: rounded up to the granule of the hardware.
    ``vgpr_total`` is what counts against the VGPR file. ``work_group`` is the least and greatest number of
    work-items.
    """

    used: Usage
    wave_size: int
    vgpr_declared: int | None = None
    agpr_declared: int | None = None
    sgpr_declared: int | None = None
    vgpr_total: int | None = None
    vgpr_allocated: int | None = None
    vgpr_addressable: int | None = None
    """v0 up to this number belong to the wave: the allocation, cut at the accumulator offset in a unified file."""
    agpr_addressable: int | None = None
    agpr_allocated: int | None = None
    sgpr_allocated: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    dynamic_stack: bool | None = None
    work_group: tuple[int, int] | None = None
    waves_per_work_group: int | None = None
    occupancy: Occupancy | None = None
    notes: tuple[str, ...] = ()

    @property
    def occupancy_waves_per_simd(self) -> int | None:
        """Waves of this kernel that one SIMD holds."""
        return self.occupancy.waves if self.occupancy else None


def kernel_resources(kernel: Function) -> Resources:
    """The resources of a kernel (or device function: what is not declared stays ``None``)."""
    used = register_usage(kernel)
    descriptor = kernel.descriptor
    if descriptor is None:
        return Resources(used, kernel.wave_size, notes=("no kernel descriptor: allocation is not known",))
    notes: list[str] = []
    target = kernel.target
    limits = resource_limits(target)
    file = limits.vgpr.get(kernel.wave_size)
    if file is None:
        notes.append(f"{target.name} has no wave size {kernel.wave_size}: allocation is not known")
    vgprs, agprs, total = _declared_vgprs(kernel, descriptor, notes)
    sgprs = _declared_sgprs(kernel, descriptor, notes)
    work_group = _work_group(kernel, notes)
    lds = _value(kernel, descriptor, "group_segment_fixed_size", notes)
    scratch = _value(kernel, descriptor, "private_segment_fixed_size", notes)
    dynamic = _value(kernel, descriptor, "uses_dynamic_stack", notes)
    allocated = round_up(max(total, 1), file.granule) if file and total is not None else None
    vgpr_allocated, agpr_allocated = _split_allocation(kernel, descriptor, allocated, total)
    found = None
    sharing = _sharing(kernel, descriptor, notes)
    if file and sharing and total is not None and sgprs is not None and lds is not None:
        demand = Demand(kernel.wave_size, sharing, total, sgprs, lds, work_group or ANY_WORK_GROUP)
        found = occupancy(limits, demand)
    return Resources(
        used,
        kernel.wave_size,
        vgpr_declared=vgprs,
        agpr_declared=agprs,
        sgpr_declared=sgprs,
        vgpr_total=total,
        vgpr_allocated=vgpr_allocated,
        vgpr_addressable=_addressable_vgprs(kernel, descriptor, allocated),
        agpr_addressable=_addressable_agprs(kernel, descriptor, allocated),
        agpr_allocated=agpr_allocated,
        sgpr_allocated=_allocated_sgprs(kernel, sgprs),
        lds_bytes=lds,
        scratch_bytes=scratch,
        dynamic_stack=None if dynamic is None else bool(dynamic),
        work_group=work_group,
        waves_per_work_group=None if work_group is None else -(-work_group[1] // kernel.wave_size),
        occupancy=found,
        notes=tuple(notes),
    )


def register_usage(function: Function) -> Usage:
    """What the instructions of a function name, explicitly or implicitly."""
    touched = 0
    found: list[tuple[int, str]] = []
    """Reasons, each with the index of the instruction that gives it first."""
    for _, decoded, indices in function.spellings:
        if decoded is not None:
            touched |= decoded.reads | decoded.writes
            if decoded.has_indexed:
                found.append((indices[0], "registers are indexed at run time"))
    outside = [block.end - 1 for block in function.blocks if block.call is not None and not block.entries]
    if outside:
        found.append((outside[0], "calls: registers of the callees are not counted"))
    not_understood = function.not_understood
    for one in not_understood[:REASONS]:
        line = one.statement.outer_place.line
        found.append((one.index, f"line {line}: '{one.statement.text}' is not understood"))
    reasons = [text for _, text in sorted(found)]
    if len(not_understood) > REASONS:
        reasons.append(f"{len(not_understood) - REASONS} more lines are not understood")
    return Usage(
        _highest(touched, VGPR),
        _highest(touched, AGPR),
        _highest(touched, SGPR),
        bool(touched & VCC),
        bool(touched & _FLAT_SCRATCH),
        bool(touched & _XNACK_MASK),
        not reasons,
        tuple(dict.fromkeys(reasons)),
    )


def _highest(register_set: int, bank: Bank) -> int:
    """Number of the highest register of the bank in the set, plus one."""
    return ((register_set & bank.mask) >> bank.start).bit_length()


def _value(kernel: Function, descriptor: Descriptor, name: str, notes: list[str]) -> int | None:
    value = directive_value(descriptor, name, kernel.target)
    if value is None:
        reason = descriptor.unknown.get(name, "not given")
        notes.append(f".amdhsa_{name} is not known: {reason}")
    return value


def _declared_vgprs(
    kernel: Function, descriptor: Descriptor, notes: list[str]
) -> tuple[int | None, int | None, int | None]:
    """Architectural VGPRs, AGPRs and their total in the VGPR file, as the descriptor states them."""
    total = _value(kernel, descriptor, "next_free_vgpr", notes)
    if total is None:
        return None, None, None
    facts = kernel.target.facts
    if not is_unified(kernel.target):
        return total, total if facts["agpr"] else 0, total
    offset = _value(kernel, descriptor, "accum_offset", notes)
    if offset is None:
        return None, None, total
    return min(offset, total), max(total - offset, 0), total


def _split_allocation(
    kernel: Function, descriptor: Descriptor, allocated: int | None, total: int | None
) -> tuple[int | None, int | None]:
    """VGPRs and AGPRs that a wave gets out of its allocation. In a unified file the AGPRs start at the accumulator
    offset, and a kernel that declares none gets none: what rounding leaves behind the offset counts as VGPRs. Two
    files have the same size; without AGPRs there are none."""
    if not kernel.target.facts["agpr"]:
        return allocated, 0
    if not is_unified(kernel.target):
        return allocated, allocated
    offset = directive_value(descriptor, "accum_offset", kernel.target)
    if allocated is None or offset is None or total is None:
        return None, None
    if total <= offset:
        return allocated, 0
    return min(offset, allocated), max(allocated - offset, 0)


def _addressable_vgprs(kernel: Function, descriptor: Descriptor, allocated: int | None) -> int | None:
    if not is_unified(kernel.target):
        return allocated
    offset = directive_value(descriptor, "accum_offset", kernel.target)
    return None if allocated is None or offset is None else min(offset, allocated)


def _addressable_agprs(kernel: Function, descriptor: Descriptor, allocated: int | None) -> int | None:
    if not kernel.target.facts["agpr"]:
        return 0
    if not is_unified(kernel.target):
        return allocated
    offset = directive_value(descriptor, "accum_offset", kernel.target)
    return None if allocated is None or offset is None else max(allocated - offset, 0)


def _declared_sgprs(kernel: Function, descriptor: Descriptor, notes: list[str]) -> int | None:
    """SGPRs with VCC, FLAT_SCRATCH and XNACK_MASK as reserved (AMDGPUAsmParser::calculateGPRBlocks)."""
    numbered = _value(kernel, descriptor, "next_free_sgpr", notes)
    if numbered is None:
        return None
    target = kernel.target
    reserved = {
        name: bool(directive_value(descriptor, f"reserve_{name}", target))
        for name in ("vcc", "flat_scratch", "xnack_mask")
    }
    return numbered + extra_sgprs(target, reserved["vcc"], reserved["flat_scratch"], reserved["xnack_mask"])


def _allocated_sgprs(kernel: Function, declared: int | None) -> int | None:
    """SGPRs that a wave gets: everything on gfx10 and later, else a multiple of the granule."""
    sgpr = resource_limits(kernel.target).sgpr
    if sgpr.fixed is not None or declared is None or sgpr.granule is None:
        return sgpr.fixed
    return round_up(max(declared, 1), sgpr.granule)


def _sharing(kernel: Function, descriptor: Descriptor, notes: list[str]) -> str | None:
    """What shares LDS: a work-group processor or a compute unit (``.amdhsa_workgroup_processor_mode``)."""
    modes = resource_limits(kernel.target).sharing
    if "wgp" not in modes:
        return "cu"
    mode = _value(kernel, descriptor, "workgroup_processor_mode", notes)
    return None if mode is None else "wgp" if mode else "cu"


def _work_group(kernel: Function, notes: list[str]) -> tuple[int, int] | None:
    """Least and greatest work-group size by the metadata; the descriptor does not hold it."""
    values = kernel.metadata.values if kernel.metadata else {}
    required = values.get(".reqd_workgroup_size")
    if isinstance(required, list) and required and all(isinstance(size, int) and size > 0 for size in required):
        product = 1
        for size in required:
            product *= size
        return product, product
    greatest = values.get(".max_flat_workgroup_size")
    if isinstance(greatest, int) and 0 < greatest <= ANY_WORK_GROUP[1]:
        return 1, greatest
    notes.append("work-group size is not in the metadata: any size is assumed for occupancy")
    return None
