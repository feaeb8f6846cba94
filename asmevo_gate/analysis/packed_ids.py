"""Addresses that are made of all packed work-item ids together, where the code takes v0 for the id x alone.

Followed is the code from the entry of a kernel to its first branch, through sums, shifts and products. Everything else
(a mask, a bit field, a load) makes something new of the value, and what is made of that says nothing.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.isa.instruction import VMEM, Decoded, Op, Role
from asmevo_gate.isa.registers import VGPR
from asmevo_gate.program.model import Function, Instruction

_LINEAR = frozenset(
    (
        "v_mov_b32", "v_lshlrev_b32", "v_lshl_add_u32", "v_add_lshl_u32", "v_add_u32", "v_add_nc_u32", "v_add_co_u32",
        "v_add3_u32", "v_mul_lo_u32", "v_mul_u32_u24", "v_mad_u32_u24", "v_mad_u64_u32", "v_mad_co_u64_u32",
    )
)  # fmt: skip
_OTHER_SOURCES = ("dpp", "e64_dpp", "sdwa", "vopd")
"""Variants that take something else than the whole register."""


class UnmaskedAddress(msgspec.Struct, frozen=True):
    """``access`` uses an address that ``use`` began to make of v0 as it is."""

    use: Instruction
    access: Instruction


def unmasked_address(kernel: Function) -> UnmaskedAddress | None:
    """The first address that v0 goes into with all its ids, ``None`` when there is none."""
    used_first: dict[int, Instruction | None] = {VGPR.start: None}  # register that ids went into -> where v0 was read
    end = kernel.blocks[0].end if kernel.blocks else 0
    for instruction in kernel.instructions[:end]:
        decoded = instruction.decoded
        if decoded is None or decoded.is_call or decoded.has_indexed:
            return None
        address = _address(decoded)
        for register, use in used_first.items():
            if address >> register & 1:
                return UnmaskedAddress(use or instruction, instruction)
        sources = [use or instruction for register, use in used_first.items() if decoded.reads >> register & 1]
        used_first = {register: use for register, use in used_first.items() if not decoded.writes >> register & 1}
        if sources and decoded.base in _LINEAR and decoded.variant not in _OTHER_SOURCES:
            used_first[decoded.operands[0].start] = min(sources, key=lambda one: one.index)
    return None


def _address(decoded: Decoded) -> int:
    """The vector registers that hold the address of a memory instruction."""
    if not decoded.of(VMEM | Op.DS) or decoded.of(Op.IMAGE):
        return 0
    sources = [one for one in decoded.operands if not one.role & Role.WRITE]
    if decoded.of(Op.BUFFER):
        sources = list(decoded.operands[1:2])
    return sources[0].mask & VGPR.mask if sources else 0
