"""Which registers hold something when a kernel starts (AMDGPUUsage, "Initial Kernel Execution State")."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from asmevo_gate.isa.registers import EXEC, MODE, SGPR, SPECIAL, TTMP, VGPR, bits
from asmevo_gate.program.descriptor import Descriptor, directive_value
from asmevo_gate.program.model import Function

_USER_SGPRS = (
    ("user_sgpr_private_segment_buffer", 4, "private segment buffer"),
    ("user_sgpr_dispatch_ptr", 2, "dispatch packet address"),
    ("user_sgpr_queue_ptr", 2, "queue address"),
    ("user_sgpr_kernarg_segment_ptr", 2, "kernarg segment address"),
    ("user_sgpr_dispatch_id", 2, "dispatch id"),
    ("user_sgpr_flat_scratch_init", 2, "flat scratch initialiser"),
    ("user_sgpr_private_segment_size", 1, "private segment size"),
)
"""User SGPRs in the order in which the hardware packs them (AMDGPUUsage, SGPR Register Set Up Order)."""

_WORK_GROUP_IDS = (
    ("system_sgpr_workgroup_id_x", "work-group id x"),
    ("system_sgpr_workgroup_id_y", "work-group id y"),
    ("system_sgpr_workgroup_id_z", "work-group id z"),
)

_ARCHITECTED_IDS = ((9, "work-group id x"), (7, "work-group ids y (15:0) and z (31:16)"))
"""TTMP registers that hold the ids on targets with architected SGPRs."""


class InitialRegisters(msgspec.Struct, frozen=True):
    """``known`` are the registers that hold something at entry; ``names`` says what, by first register.

    ``complete`` is ``False`` when the descriptor leaves something open: ``known`` then holds every register
    that may be initialised, so that nothing is reported as uninitialised by guess.
    """

    known: int
    names: dict[int, str]
    complete: bool


def initial_registers(kernel: Function) -> int:
    """The bit set of registers that hold a value at the entry of a kernel."""
    return initial_state(kernel).known


def initial_state(kernel: Function) -> InitialRegisters:
    """What the ABI puts into registers before the first instruction of a kernel.

    EXEC, MODE, TTMP and the registers that show hardware state always count; VCC, SCC, M0 and FLAT_SCRATCH
    (where the prologue has to set it) do not. With architected flat scratch the hardware has set
    FLAT_SCRATCH.
    """
    names: dict[int, str] = {}
    always = EXEC | MODE | TTMP.mask | _hardware_registers()
    descriptor = kernel.descriptor
    if descriptor is None:
        return InitialRegisters(always | SGPR.mask | bits(VGPR.start, 3), names, False)
    scalars = list(_scalar_values(kernel, descriptor))
    if any(present is None for present, _, _ in scalars):
        return InitialRegisters(always | SGPR.mask | bits(VGPR.start, 3), names, False)
    known = always
    position = SGPR.start
    for present, count, meaning in scalars:
        if present and count:
            names[position] = meaning
            known |= bits(position, count)
            position += count
    if kernel.target.facts["arch_sgprs"]:
        names.update({TTMP.start + number: meaning for number, meaning in _ARCHITECTED_IDS})
    known |= _work_item_ids(kernel, descriptor, names)
    return InitialRegisters(known, names, True)


def _hardware_registers() -> int:
    """Registers that show state of the hardware, not values of the program."""
    constant = (
        "shared_base", "shared_limit", "private_base", "private_limit", "flat_scratch_base_lo",
        "flat_scratch_base_hi", "flat_scratch_lo", "flat_scratch_hi",
        "tba_lo", "tba_hi", "tma_lo", "tma_hi", "pops_exiting_wave_id", "vgpr_msb",
        "execz",
    )  # fmt: skip
    found = 0
    for name in constant:
        found |= bits(SPECIAL[name])
    return found


def _scalar_values(kernel: Function, descriptor: Descriptor) -> Iterator[tuple[bool | None, int, str]]:
    """SGPRs from s0 on: (present, count, meaning); present is ``None`` when the descriptor does not tell."""
    target = kernel.target
    used = 0
    for name, count, meaning in _USER_SGPRS[:-1]:
        present = _enabled(kernel, descriptor, name)
        used += count if present else 0
        yield present, count, meaning
    if target.facts["kernarg_preload"]:
        length = directive_value(descriptor, "user_sgpr_kernarg_preload_length", target)
        used += length or 0
        yield (None if length is None else True), length or 0, "preloaded kernel arguments"
    name, count, meaning = _USER_SGPRS[-1]
    present = _enabled(kernel, descriptor, name)
    used += count if present else 0
    yield present, count, meaning
    declared = descriptor.values.get("user_sgpr_count", used)
    # A count above the sum pads: work-group ids follow the declared count.
    yield "user_sgpr_count" not in descriptor.unknown or None, max(declared - used, 0), "unnamed user SGPRs"
    if not target.facts["arch_sgprs"]:
        for name, meaning in _WORK_GROUP_IDS:
            yield _enabled(kernel, descriptor, name), 1, meaning
    yield _enabled(kernel, descriptor, "system_sgpr_workgroup_info"), 1, "work-group info"
    if not target.facts["arch_flat_scratch"]:
        name = "system_sgpr_private_segment_wavefront_offset"
        enabled = _enabled(kernel, descriptor, name)
        without_scratch = directive_value(descriptor, "private_segment_fixed_size", target) == 0
        yield enabled or without_scratch, 1, "scratch offset of the wavefront"


def _enabled(kernel: Function, descriptor: Descriptor, name: str) -> bool | None:
    """A directive as a flag; absent directives of the target count as off."""
    value = directive_value(descriptor, name, kernel.target)
    if value is None:
        return None if name in descriptor.unknown else False
    return bool(value)


def _work_item_ids(kernel: Function, descriptor: Descriptor, names: dict[int, str]) -> int:
    """The VGPRs that hold the work-item ids: packed into v0 (10 bits each), or one register each."""
    dimensions = directive_value(descriptor, "system_vgpr_workitem_id", kernel.target)
    count = 3 if dimensions is None else min(dimensions, 2) + 1
    if kernel.target.facts["packed_tid"]:
        names[VGPR.start] = "work-item ids, packed: " + ", ".join("xyz"[:count])
        return bits(VGPR.start)
    for number in range(count):
        names[VGPR.start + number] = f"work-item id {'xyz'[number]}"
    return bits(VGPR.start, count)


def work_item_registers(kernel: Function) -> int:
    """The VGPRs that hold work-item ids at the entry of a kernel; 0 for a device function."""
    return _work_item_ids(kernel, kernel.descriptor, {}) if kernel.descriptor is not None else 0


def user_sgpr_count(kernel: Function) -> int | None:
    """User SGPRs that the descriptor enables one by one; ``None`` when it does not tell."""
    descriptor = kernel.descriptor
    if descriptor is None:
        return None
    total = 0
    for name, count, _ in _USER_SGPRS:
        present = _enabled(kernel, descriptor, name)
        if present is None:
            return None
        total += count if present else 0
    if kernel.target.facts["kernarg_preload"]:
        length = directive_value(descriptor, "user_sgpr_kernarg_preload_length", kernel.target)
        if length is None:
            return None
        total += length
    return total
