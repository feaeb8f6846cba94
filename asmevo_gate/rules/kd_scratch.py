"""The rule ``kd.scratch``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from asmevo_gate.analysis.known_state import immediate_offset
from asmevo_gate.analysis.symbolic_values import Value
from asmevo_gate.isa.instruction import Decoded, Op, Role
from asmevo_gate.isa.registers import PAIRS, SPECIAL, bits
from asmevo_gate.program.descriptor import Descriptor, directive_value
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_FLAT_SCRATCH = bits(SPECIAL[PAIRS["flat_scratch"]], 2)
_BUFFER = "private segment buffer"
_NARROW = r"_(?:[us]?byte|[us]?short|[bui](?:8|16)|d16_[a-z]*(?:8|16))(?:_|$)"
_STORE = "  scratch_store_dword off, v0, off offset:{}\n"
_SIZE = "  .amdhsa_private_segment_fixed_size {}\n"
_ON = "  .amdhsa_enable_private_segment 1\n"
_ACCUM = "  .amdhsa_accum_offset 8\n"


class Scratch(Rule):
    """Scratch memory is used without being enabled, without a size, or beyond its size.

    What it does:
        Reports the first scratch access of a kernel whose descriptor does not switch scratch on
        (.amdhsa_enable_private_segment, where the GPU sets FLAT_SCRATCH up), whose code never sets FLAT_SCRATCH (where
        the code must), or that reserves no bytes and has no dynamic stack; and an access at a known offset behind
        .amdhsa_private_segment_fixed_size. Scratch that is reserved and not switched on is a warning.
    Why it matters:
        FLAT_SCRATCH then holds what the last wave left: spills go to memory of somebody else, or fault.
    Repair:
        Enable the private segment and give its size in bytes per work-item, in descriptor and metadata.
    Sources:
        AMDGPUUsage, "Flat Scratch", ".amdhsa_enable_private_segment" and ".amdhsa_private_segment_fixed_size".
    """

    id = "kd.scratch"
    title = "scratch is used but not set up"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx942", kernel_text(_STORE.format(0), _SIZE.format(16) + _ACCUM), line=3),
        Example("gfx942", kernel_text(_STORE.format(0), _ON + _ACCUM), line=3),
        Example("gfx942", kernel_text(_STORE.format(16), _ON + _SIZE.format(16) + _ACCUM), line=3),
        Example("gfx900", kernel_text("  scratch_store_dword v1, v0, off\n", _SIZE.format(16)), line=3),
        Example("gfx1100", kernel_text("  s_nop 0\n", _SIZE.format(132)), line=10),
    )
    good = (
        Example("gfx942", kernel_text(_STORE.format(12), _ON + _SIZE.format(16) + _ACCUM)),
        Example("gfx1100", kernel_text("  scratch_store_b32 v1, v0, off\n", _ON + _SIZE.format(16))),
        Example(
            "gfx900",
            kernel_text("  s_mov_b64 flat_scratch, s[0:1]\n  scratch_store_dword v1, v0, off\n", _SIZE.format(16)),
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first access that cannot work; without one the descriptor alone."""
        kernel = facts.kernel
        descriptor = kernel.descriptor
        if descriptor is None:
            return
        accesses = list(_accesses(facts))
        size, dynamic = facts.resources.scratch_bytes, facts.resources.dynamic_stack
        for instruction, decoded, by_flat in accesses:
            message, repair = _fault(facts, descriptor, instruction, decoded, by_flat, size, dynamic)
            if message:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=message,
                    repair=repair,
                )
                return
        if not accesses and size and not dynamic:
            yield from _reserved_only(kernel, descriptor, size)


def _accesses(facts: KernelFacts) -> Iterator[tuple[Instruction, Decoded, bool]]:
    """Scratch instructions, and buffer instructions whose resource is that of the private segment (``False``)."""
    for instruction, decoded in facts.kernel.of(Op.SCRATCH | Op.BUFFER):
        if decoded.of(Op.SCRATCH):
            yield instruction, decoded, True
        else:
            values = facts.known.get(instruction.index, ())
            if any(len(value) == 4 and value[2] == Value(_BUFFER, part=2) for value in values):
                yield instruction, decoded, False


def _fault(
    facts: KernelFacts,
    descriptor: Descriptor,
    instruction: Instruction,
    decoded: Decoded,
    by_flat: bool,
    size: int | None,
    dynamic: bool | None,
) -> tuple[str, str]:
    kernel = facts.kernel
    architected = bool(kernel.target.facts["arch_flat_scratch"])
    if by_flat and architected and directive_value(descriptor, "enable_private_segment", kernel.target) == 0:
        return "scratch is used, but .amdhsa_enable_private_segment is 0", "set .amdhsa_enable_private_segment 1"
    if size == 0 and dynamic is False:
        return "scratch is used, but .amdhsa_private_segment_fixed_size is 0", "give the bytes per work-item"
    if by_flat and not architected and not _sets_flat_scratch(kernel):
        return (
            f"scratch is used, but nothing sets FLAT_SCRATCH: on {kernel.target.name} the kernel must",
            "set it from the flat scratch initialiser and the scratch offset of the wavefront",
        )
    end = _end(facts, instruction, decoded) if by_flat else None
    if size and not dynamic and end is not None and end > size:
        return (
            f"this access ends at byte {end} of scratch, but a work-item has {size}",
            f"set .amdhsa_private_segment_fixed_size to at least {end}",
        )
    return "", ""


def _sets_flat_scratch(kernel: Function) -> bool:
    """A write of FLAT_SCRATCH, or of its hardware registers (gfx10)."""
    for _, decoded, _ in kernel.spellings:
        if decoded is None or decoded.is_call or decoded.writes & _FLAT_SCRATCH:
            return True
        if decoded.base.startswith("s_setreg") and any(
            "FLAT_SCR" in one.text.upper() or not one.text.startswith("hwreg(HW") for one in decoded.operands[:1]
        ):
            return True
    return False


def _end(facts: KernelFacts, instruction: Instruction, decoded: Decoded) -> int | None:
    """The byte behind an access at a known place in the work-item's scratch."""
    offset = immediate_offset(decoded)
    if offset is None or decoded.of(Op.LDS_DMA):
        return None
    values = facts.known.get(instruction.index)
    data = next((one for one in decoded.operands if one.role & Role.WRITE), None)
    addresses = [number for number, one in enumerate(decoded.operands) if one is not data]
    if data is None:
        # A store: address, data, address.
        data = decoded.operands[1]
        addresses = [number for number in addresses if number != 1]
    total = offset
    for number in addresses:
        operand = decoded.operands[number]
        if operand.text in ("off", "null"):
            continue
        value = values[number][0] if values is not None else None
        if value is None or value.constant is None or value.constant >> 31:
            return None
        total += value.constant
    width = 1 if re.search(_NARROW, decoded.base) else 4 * max(data.length, 1)
    return total + width if total >= 0 else None


def _reserved_only(kernel: Function, descriptor: Descriptor, size: int) -> Iterator[Violation]:
    """Scratch that the descriptor reserves and does not switch on, in a kernel that calls nobody."""
    name = (
        "enable_private_segment"
        if kernel.target.facts["arch_flat_scratch"]
        else "system_sgpr_private_segment_wavefront_offset"
    )
    calls = not kernel.understood or kernel.of(Op.CALL)
    place = descriptor.places.get("private_segment_fixed_size")
    if calls or place is None or directive_value(descriptor, name, kernel.target) != 0:
        return
    severity: Severity = "warning"
    yield Violation(
        place=place.place,
        frames=place.frames,
        message=f"{size} bytes of scratch are reserved, but .amdhsa_{name} is 0 and nothing uses them",
        repair="remove the size, or enable the segment",
        severity=severity,
    )
