"""The rule ``reg.work_item_id``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.packed_ids import unmasked_address
from asmevo_gate.analysis.symbolic_values import PACKED_IDS, Value
from asmevo_gate.program.descriptor import directive_value
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_AXES = {10: "y", 20: "z"}
"""First bit of each packed id (AMDGPUUsage: v0 holds x in bits 9:0, y in 19:10, z in 29:20)."""

_USE = "  v_lshlrev_b32 v2, 2, v1\n  ds_write_b32 v2, v0\n"
_Y = "  v_bfe_u32 v1, v0, 10, 10\n" + _USE
_X, _ADDRESS = "  v_lshlrev_b32 v2, 2, v0\n", "  v_add_u32 v3, s2, v2\n  ds_write_b32 v3, v2\n"
_MASK = "  v_and_b32 v0, 0x3ff, v0\n"
_ACCUM = "  .amdhsa_accum_offset 8\n"


class WorkItemId(Rule):
    """A work-item id is taken from where the launch does not put it.

    What it does:
        On GPUs that pack the work-item ids into v0, reports the extraction of y or z when
        .amdhsa_system_vgpr_workitem_id does not enable it, and v0 as it is in an address when more than x is enabled
        (unless the metadata requires a work-group of one row). On GPUs that give each id a VGPR of its own, reports the
        extraction of y or z from a register that holds one id alone: it gives 0. It is an error when the metadata
        requires a work-group with more than one work-item along that axis (or another axis than x, for v0 as it is), a
        warning otherwise. A VGPR that is not set up at all is reported by reg.undefined; an id that is extracted and
        not used is quiet.
    Why it matters:
        The bits of an id that is not enabled are undefined (in practice 0): every row of a 2-D work-group works on
        the elements of the first. With y in bits 19:10 of v0, every row but the first uses addresses far away.
    Repair:
        Mask x with 0x3ff (v_and_b32, or v_bfe_u32 from bit 0). Set .amdhsa_system_vgpr_workitem_id to 1 for y, to 2
        for z; on unpacked GPUs read v1 and v2.
    Sources:
        AMDGPUUsage, "VGPR Register Set Up Order" (work-item id layouts) and ".amdhsa_system_vgpr_workitem_id".
    """

    id = "reg.work_item_id"
    title = "work-item id is not where the code takes it from"
    family = "register"
    severity = "warning"
    bad = (
        Example("gfx90a", kernel_text(_Y, _ACCUM), line=3),
        Example(
            "gfx1100",
            kernel_text("  v_bfe_u32 v1, v0, 20, 10\n" + _USE, "  .amdhsa_system_vgpr_workitem_id 1\n"),
            line=3,
        ),
        Example("gfx900", kernel_text(_Y, "  .amdhsa_system_vgpr_workitem_id 1\n"), line=3),
        Example("gfx942", kernel_text(_X + _ADDRESS, _ACCUM + "  .amdhsa_system_vgpr_workitem_id 1\n"), line=3),
    )
    good = (
        Example("gfx90a", kernel_text(_Y, _ACCUM + "  .amdhsa_system_vgpr_workitem_id 1\n")),
        Example("gfx1100", kernel_text("  v_bfe_u32 v1, v0, 0, 10\n")),
        Example("gfx942", kernel_text("  v_lshrrev_b32 v1, 10, v0\n  v_and_b32 v1, 0x3ff, v1\n", _ACCUM)),
        Example("gfx900", kernel_text("  v_mov_b32 v2, v1\n", "  .amdhsa_system_vgpr_workitem_id 1\n")),
        Example("gfx942", kernel_text(_X + _ADDRESS, _ACCUM)),
        Example("gfx942", kernel_text(_MASK + _X + _ADDRESS, _ACCUM + "  .amdhsa_system_vgpr_workitem_id 1\n")),
        Example("gfx1030", kernel_text(_X + _ADDRESS, "  .amdhsa_system_vgpr_workitem_id 1\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Extractions of an id that is not there, once for each id, and v0 as it is."""
        kernel = facts.kernel
        if kernel.descriptor is None:
            return
        enabled = directive_value(kernel.descriptor, "system_vgpr_workitem_id", kernel.target)
        packed = bool(kernel.target.facts["packed_tid"])
        if packed and enabled:
            yield from _not_masked(facts)
        reported: set[str] = set()
        for index, values in facts.known.items():
            instruction = kernel.instructions[index]
            decoded = instruction.decoded
            if decoded is None or decoded.base not in ("v_bfe_u32", "v_lshrrev_b32"):
                continue
            value, first = _extraction(decoded.base, values)
            axis = _AXES.get(first)
            if axis is None or value is None or axis in reported:
                continue
            if packed and value == Value(PACKED_IDS) and enabled is not None and enabled < (1 if axis == "y" else 2):
                message = (
                    f"work-item id {axis} is read, but .amdhsa_system_vgpr_workitem_id {enabled} does not enable it"
                )
                repair = f"set .amdhsa_system_vgpr_workitem_id to {1 if axis == 'y' else 2}"
            elif not packed and value in (Value("x"), Value("y"), Value("z")):
                message = f"ids are not packed on {kernel.target.name}: bits {first} and up of id {value.origin} are 0"
                repair = f"enable id {axis} and read it from v{1 if axis == 'y' else 2}"
            else:
                continue
            if not _is_used(facts, index):
                continue
            reported.add(axis)
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=message,
                repair=repair,
                severity="error" if _extent(facts, axis) > 1 else None,
            )


def _not_masked(facts: KernelFacts) -> Iterable[Violation]:
    """The id x is taken from v0 without the mask that leaves the other ids out."""
    rows = [_extent(facts, axis) for axis in "yz"]
    found = unmasked_address(facts.kernel) if rows != [1, 1] else None
    if found is None:
        return
    line = found.access.statement.outer_place.line
    yield Violation(
        place=found.use.statement.place,
        frames=found.use.statement.frames,
        message=f"v0 holds all work-item ids in 10 bits each, and goes as a whole into the address of line {line}",
        repair="take x out of it first: v_and_b32 vN, 0x3ff, v0",
        severity="error" if max(rows) > 1 else None,
    )


def _extent(facts: KernelFacts, axis: str) -> int:
    """Work-items along an axis, where the metadata requires a number; else 0."""
    metadata = facts.kernel.metadata
    required = metadata.values.get(".reqd_workgroup_size") if metadata is not None else None
    extent = required["xyz".index(axis)] if isinstance(required, list) and len(required) == 3 else 0
    return extent if isinstance(extent, int) else 0


def _extraction(base: str, values: tuple[tuple[Value | None, ...], ...]) -> tuple[Value | None, int]:
    """The source of a shift or bit-field extract, and its first bit (-1 when not known)."""
    source, first = (values[1][0], values[2][0]) if base == "v_bfe_u32" else (values[2][0], values[1][0])
    number = first.constant if first is not None else None
    return source, -1 if number is None else number


_EXTRACTS = frozenset(("v_and_b32", "v_lshrrev_b32", "v_bfe_u32"))


def _is_used(facts: KernelFacts, index: int) -> bool:
    """Something else than a further extraction reads the result; generators extract every id and use some."""
    kernel = facts.kernel
    decoded = kernel.instructions[index].decoded
    if decoded is None or not facts.liveness.after[index] & decoded.writes:
        return False
    block = next(one for one in kernel.blocks if one.first <= index < one.end)
    written = decoded.writes
    for number in range(index + 1, block.end):
        reader = kernel.instructions[number].decoded
        if reader is None:
            return True
        if reader.reads & written and (reader.base not in _EXTRACTS or _is_used(facts, number)):
            return True
        if not written & ~reader.writes or not facts.liveness.after[number] & written:
            return False
    return True
