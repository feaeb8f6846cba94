"""Conditions of instruction classes that need more than class bits, mnemonic and one modifier."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES
from asmevo_gate.isa import registers
from asmevo_gate.isa.instruction import Decoded, Op, Role
from asmevo_gate.isa.operand_text import evaluate

_WIDE = 2
"""A store of more than this many dwords reads its data over more than one cycle."""


def _wide_data(decoded: Decoded) -> bool:
    return ROLES["store_data"](decoded).bit_count() > _WIDE


def _sgpr_offset(decoded: Decoded) -> bool:
    """True when a buffer instruction takes its soffset from a register."""
    return bool(decoded.operands) and decoded.operands[-1].length > 0


def wide_store(decoded: Decoded) -> bool:
    """Store or atomic with more than 64 bits of data; a buffer store only without an SGPR soffset (LLVM
    GCNHazardRecognizer::createsVALUHazard)."""
    if not _wide_data(decoded):
        return False
    return not (decoded.classes & Op.BUFFER and _sgpr_offset(decoded))


def wide_store_sgpr_offset(decoded: Decoded) -> bool:
    """Buffer store or atomic with more than 64 bits of data and an SGPR soffset."""
    return bool(decoded.classes & Op.BUFFER) and _sgpr_offset(decoded) and _wide_data(decoded)


def _op_sel(decoded: Decoded) -> list[int]:
    text = decoded.modifiers.get("op_sel", "").strip("[] ")
    return [value for value in map(evaluate, text.split(",")) if value is not None]


def shifted_destination(decoded: Decoded) -> bool:
    """The result lands at another bit position: SDWA ``dst_sel``, or the destination bit of ``op_sel`` of a VOP3
    instruction (LLVM getDstSelForwardingOperand). VOP3P has no destination select; the stochastic conversions to
    fp4 count with every op_sel."""
    if decoded.classes & Op.SDWA:
        return decoded.modifiers.get("dst_sel", "DWORD") != "DWORD" and not decoded.base.startswith("v_cmp")
    if decoded.classes & Op.VOP3P and not decoded.base.startswith("v_cvt_"):
        return False
    if decoded.base.startswith("v_cvt_scalef32_sr_pk_fp4"):
        return True
    op_sel = _op_sel(decoded)
    if not any(op_sel):
        return False
    base = decoded.base
    if base.startswith(("v_cvt_sr_fp8", "v_cvt_sr_bf8")):
        return any(op_sel[2:])
    if base.startswith(("v_cvt_scalef32_sr", "v_cvt_scalef32_pk_fp4")):
        return any(op_sel)
    sources = sum(1 for operand in decoded.operands[1:])
    return len(op_sel) > sources and op_sel[-1] == 1


def partial_vcc_write(decoded: Decoded) -> bool:
    """Writes one half of VCC and not the other."""
    return (decoded.writes & registers.VCC).bit_count() == 1


def full_vcc_write(decoded: Decoded) -> bool:
    """Writes all of VCC."""
    return decoded.writes & registers.VCC == registers.VCC


def writes_vgpr(decoded: Decoded) -> bool:
    """Writes a VGPR."""
    return bool(decoded.writes & registers.VGPRS)


def writes_exec(decoded: Decoded) -> bool:
    """Writes EXEC."""
    return bool(decoded.writes & registers.EXEC)


def writes_scalar(decoded: Decoded) -> bool:
    """Writes an SGPR or VCC."""
    return bool(decoded.writes & (registers.SGPRS | registers.VCC))


def hwreg_bit_0(decoded: Decoded) -> bool:
    """s_setreg whose field is bit 0 alone: ``hwreg(NAME, 0, 1)`` or the plain register number."""
    for operand in decoded.operands:
        text = operand.text.replace(" ", "")
        if text.startswith("hwreg("):
            return text.endswith(",0,1)")
    first = decoded.operands[0].value
    return isinstance(first, int) and first >> 6 == 0


def reads_scalar_or_literal(decoded: Decoded) -> bool:
    """Reads an SGPR or a literal constant (not an inline constant)."""
    for operand in decoded.operands:
        if operand.role & Role.READ and operand.mask & (registers.SGPRS | registers.VCC | registers.TTMP.mask):
            return True
        if isinstance(operand.value, int) and not -16 <= operand.value <= 64:
            return True
    return False


_LDS_DIRECT = registers.bits(registers.SPECIAL["lds_direct"])


def reads_lds_direct(decoded: Decoded) -> bool:
    """Has an lds_direct source."""
    return bool(decoded.reads & _LDS_DIRECT)


def reads_scratch_base(decoded: Decoded) -> bool:
    """Reads the flat scratch base."""
    return bool(decoded.reads & REGISTER_FILES["scratch_base"])


def two_vgpr_sources(decoded: Decoded) -> bool:
    """Has at least two different VGPR sources; a source of 64 bits is one. The old destination of DPP counts."""
    sources = {
        (operand.start, operand.length)
        for operand in decoded.operands
        if operand.mask & registers.VGPRS and (operand.role & Role.READ or decoded.classes & Op.DPP)
    }
    return len(sources) > 1


def nsa_16_bytes(decoded: Decoded) -> bool:
    """Image instruction with separate address registers (``[v1, v7, v9 ...]``) that takes 16 bytes or more: eight,
    and four for each four addresses after the first."""
    lists = [operand.text for operand in decoded.operands[1:2] if operand.text.startswith("[")]
    return any(text.count(",") >= 5 for text in lists)


def offset_bits_1_2(decoded: Decoded) -> bool:
    """Buffer instruction whose immediate offset has bit 1 or 2 set."""
    text = decoded.modifiers.get("offset", "0")
    try:
        return bool(int(text, 0) & 6)
    except ValueError:
        return False


def nonzero_offset(decoded: Decoded) -> bool:
    """Has an immediate offset other than 0."""
    text = decoded.modifiers.get("offset", "0")
    try:
        return int(text, 0) != 0
    except ValueError:
        return False


def wait_field_above_zero(decoded: Decoded) -> bool:
    """LDSDIR instruction that does not wait for all VALU results."""
    modifiers = decoded.modifiers
    return modifiers.get("wait_vdst", "0") != "0" or modifiers.get("wait_va_vdst", "0") != "0"


def no_source_wait(decoded: Decoded) -> bool:
    """LDSDIR instruction that does not wait until memory instructions have read their VGPRs (gfx12; the
    assembler's default is to wait)."""
    return decoded.modifiers.get("wait_vm_vsrc", "0") != "0"


def dealloc_vgprs(decoded: Decoded) -> bool:
    """s_sendmsg that gives the VGPRs back."""
    operand = decoded.operands[0]
    return "MSG_DEALLOC_VGPRS" in operand.text or operand.value == 3


def destination_overlaps_source(decoded: Decoded) -> bool:
    """The 64-bit destination shares a register with a source."""
    destination = decoded.operands[0].mask
    return any(operand.mask & destination and operand.role & Role.READ for operand in decoded.operands[1:])


def shift_amount_ends_block(decoded: Decoded) -> bool:
    """64-bit shift whose amount is a VGPR with number 7 modulo 8: the last register of an allocation block."""
    if len(decoded.operands) < 2:
        return False
    amount = decoded.operands[1]
    return amount.length == 1 and bool(amount.mask & registers.VGPRS) and amount.start % 8 == 7


def same_parity_sources(decoded: Decoded) -> bool:
    """VOPD whose X and Y halves read SRC0 (or VSRC1) from two different VGPRs of the same parity."""
    if len(decoded.halves) != 2:
        return False
    x, y = decoded.halves
    for position in (1, 2):
        if position >= len(x.operands) or position >= len(y.operands):
            continue
        left, right = x.operands[position], y.operands[position]
        both_vgprs = left.mask & registers.VGPRS and right.mask & registers.VGPRS
        if both_vgprs and left.start != right.start and (left.start - right.start) % 2 == 0:
            return True
    return False


def overwrites_own_address(decoded: Decoded) -> bool:
    """A load that writes a register of its own address."""
    return bool(decoded.writes & ROLES["named_reads"](decoded) & ~decoded.keeps)


def is_branch_offset_0x3f(decoded: Decoded) -> bool:
    """A branch written with the immediate 0x3f."""
    return bool(decoded.operands) and decoded.operands[-1].value == 0x3F


class Predicate(msgspec.Struct, frozen=True):
    """A condition, and what it looks at: ``reads`` and ``writes`` are the registers whose use it depends on,
    ``modifiers`` those whose value it does. Besides these it knows mnemonic, class bits and number of operands. With
    none of them it may look at anything, and is asked once for each text.
    """

    holds: Callable[[Decoded], bool]
    reads: int = 0
    writes: int = 0
    modifiers: tuple[str, ...] = ()

    @property
    def of_the_whole_text(self) -> bool:
        """True when it may look at anything."""
        return not (self.reads or self.writes or self.modifiers)


PREDICATES: dict[str, Predicate] = {
    "wide_store": Predicate(wide_store),
    "wide_store_sgpr_offset": Predicate(wide_store_sgpr_offset),
    "shifted_destination": Predicate(shifted_destination, modifiers=("op_sel", "dst_sel")),
    "partial_vcc_write": Predicate(partial_vcc_write, writes=registers.VCC),
    "full_vcc_write": Predicate(full_vcc_write, writes=registers.VCC),
    "writes_vgpr": Predicate(writes_vgpr),
    "writes_exec": Predicate(writes_exec, writes=registers.EXEC),
    "writes_scalar": Predicate(writes_scalar),
    "hwreg_bit_0": Predicate(hwreg_bit_0),
    "reads_scalar_or_literal": Predicate(reads_scalar_or_literal),
    "reads_lds_direct": Predicate(reads_lds_direct, reads=_LDS_DIRECT),
    "reads_scratch_base": Predicate(reads_scratch_base, reads=REGISTER_FILES["scratch_base"]),
    "two_vgpr_sources": Predicate(two_vgpr_sources),
    "nsa_16_bytes": Predicate(nsa_16_bytes),
    "offset_bits_1_2": Predicate(offset_bits_1_2),
    "nonzero_offset": Predicate(nonzero_offset),
    "wait_field_above_zero": Predicate(wait_field_above_zero),
    "no_source_wait": Predicate(no_source_wait),
    "dealloc_vgprs": Predicate(dealloc_vgprs),
    "destination_overlaps_source": Predicate(destination_overlaps_source),
    "shift_amount_ends_block": Predicate(shift_amount_ends_block),
    "same_parity_sources": Predicate(same_parity_sources),
    "overwrites_own_address": Predicate(overwrites_own_address),
    "is_branch_offset_0x3f": Predicate(is_branch_offset_0x3f),
}
"""Name in the constraint files -> predicate."""
