"""How many waves of a kernel one SIMD holds: each limit by itself, as LLVM computes it.

The figures are those of the ``; Occupancy:`` comment of LLVM 22. Two simplifications are LLVM's, and kept:
the size of LDS allocations is not rounded up to the granule, and waves are not rounded down to whole
work-groups per SIMD.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from asmevo_gate.isa.resource_limits import ResourceLimits, SharingBlock


class Demand(msgspec.Struct, frozen=True):
    """What one kernel asks for. Counts of ``None`` are not known and limit nothing.

    ``vgprs`` is the total in the VGPR file, ``sgprs`` includes VCC and the other extras. ``work_group`` is
    the least and the greatest number of work-items in a work-group.
    """

    wave_size: int
    sharing: str
    vgprs: int | None
    sgprs: int | None
    lds_bytes: int
    work_group: tuple[int, int]


class Occupancy(msgspec.Struct, frozen=True):
    """Waves per SIMD, and the waves that each limit alone allows (``vgpr``, ``sgpr``, ``lds``,
    ``hardware``)."""

    waves: int
    limits: Mapping[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The limits that allow no more than the result."""
        return tuple(name for name, waves in self.limits.items() if waves == self.waves)


def occupancy(limits: ResourceLimits, demand: Demand) -> Occupancy:
    """The occupancy of a kernel on a GPU."""
    block = limits.sharing[demand.sharing]
    most = limits.max_waves_per_eu
    found = {"hardware": most}
    found["work_group"] = _waves_by_work_groups(block, most, demand, lds_bytes=0)
    if demand.lds_bytes:
        found["lds"] = _waves_by_work_groups(block, most, demand, demand.lds_bytes)
    if demand.vgprs:
        found["vgpr"] = waves_by_vgprs(limits, demand.wave_size, demand.vgprs)
    if demand.sgprs:
        found["sgpr"] = waves_by_sgprs(limits, demand.sgprs)
    return Occupancy(min(found.values()), found)


def waves_by_vgprs(limits: ResourceLimits, wave_size: int, vgprs: int) -> int:
    """Waves per SIMD that the VGPR file allows (IsaInfo::getNumWavesPerEUWithNumVGPRs)."""
    file = limits.vgpr[wave_size]
    allocated = round_up(max(vgprs, 1), file.granule)
    return min(max(file.file // allocated, 1), limits.max_waves_per_eu)


def most_vgprs(limits: ResourceLimits, wave_size: int, waves: int) -> int:
    """The largest number of VGPRs with which a SIMD still holds ``waves`` waves (IsaInfo::getMaxNumVGPRs)."""
    file = limits.vgpr[wave_size]
    return file.file // waves // file.granule * file.granule


def waves_by_sgprs(limits: ResourceLimits, sgprs: int) -> int:
    """Waves per SIMD that the SGPR file allows (IsaInfo::getOccupancyWithNumSGPRs)."""
    allowed = [waves for most, waves in limits.sgpr.waves_by_count if most is None or sgprs <= most]
    return min([*allowed[:1], limits.max_waves_per_eu])


def round_up(count: int, granule: int) -> int:
    """The least multiple of ``granule`` that is not below ``count``."""
    return -(-count // granule) * granule


def _waves_by_work_groups(block: SharingBlock, max_waves: int, demand: Demand, lds_bytes: int) -> int:
    """Greatest number of waves per SIMD with whole work-groups resident: LDS, barriers and wave slots
    (AMDGPUSubtarget::getOccupancyWithWorkGroupSizes, the second of the pair)."""
    by_lds = block.lds_bytes // max(lds_bytes, 1)
    if not by_lds:
        return 1
    least, greatest = (-(-size // demand.wave_size) for size in demand.work_group)
    slots = max_waves * block.eus
    small_groups = min(_groups(block, slots, least), by_lds)
    few_waves = small_groups * least
    many_waves = min(_groups(block, slots, greatest), by_lds) * greatest
    if many_waves < few_waves:
        # A size between the two may fill the slots that the smallest size leaves free.
        spare = (slots - few_waves) // small_groups
        few_waves += small_groups * min(spare, greatest - least)
    return min(max(-(-max(few_waves, many_waves) // block.eus), 1), max_waves)


def _groups(block: SharingBlock, slots: int, waves: int) -> int:
    """Resident work-groups of ``waves`` waves; one-wave groups need no barrier
    (IsaInfo::getMaxWorkGroupsPerCU)."""
    return slots if waves == 1 else min(slots // waves, block.barriers)
