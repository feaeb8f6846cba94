"""Roles: which registers of an instruction a node of the constraint graph speaks about.

Each role is a function from a decoded instruction to a bit set on the register line
(:mod:`asmevo_gate.isa.registers`). ``hwreg`` is the one exception: its bits are hardware register ids.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.isa import registers
from asmevo_gate.isa.instruction import VMEM, Decoded, Op, Operand, Role

_SCALAR = registers.SGPRS | registers.VCC | registers.TTMP.mask
_VCCZ_EXECZ = registers.bits(registers.SPECIAL["vccz"]) | registers.bits(registers.SPECIAL["execz"])
_SCRATCH_BASE = registers.bits(registers.SPECIAL["flat_scratch_base_lo"], 2)

REGISTER_FILES: dict[str, int] = {
    "all": (1 << registers.LINE_LENGTH) - 1,
    "vgpr": registers.VGPRS,
    "agpr": registers.AGPRS,
    "vector": registers.VECTOR,
    "sgpr": registers.SGPRS | registers.TTMP.mask,
    "scalar": _SCALAR,
    "scalar_or_exec_or_m0": _SCALAR | registers.EXEC | registers.M0,
    "vcc": registers.VCC,
    "exec": registers.EXEC,
    "m0": registers.M0,
    "vcc_or_exec": registers.VCC | registers.EXEC,
    "vccz_execz": _VCCZ_EXECZ,
    "scratch_base": _SCRATCH_BASE,
    "s102_s103": registers.bits(registers.SGPR.start + 102, 2),
}
"""Names of register files that a node may narrow its registers to."""

_SGPR_BANKS = registers.SGPRS | registers.TTMP.mask
_EVEN_SGPRS = sum(1 << (bank.start + i) for bank in (registers.SGPR, registers.TTMP) for i in range(0, bank.count, 2))


def sgpr_pairs(mask: int) -> int:
    """All registers of the aligned SGPR pairs that a set touches; VCC is a pair too."""
    low = ((mask & _SGPR_BANKS) | (mask & _SGPR_BANKS) >> 1) & _EVEN_SGPRS
    return low | low << 1 | (registers.VCC if mask & registers.VCC else 0)


def _named_writes(decoded: Decoded) -> int:
    mask = 0
    for operand in decoded.operands:
        if operand.length and operand.role & Role.WRITE:
            mask |= operand.mask
    return mask


def _named_reads(decoded: Decoded) -> int:
    if decoded.keeps or decoded.classes & Op.DPP:
        mask = 0
        for operand in decoded.operands:
            if operand.length and _reads(operand):
                mask |= operand.mask
        if decoded.classes & Op.DPP:
            # LLVM takes the old value of the destination for a source; only `dpp_sources` tells it apart.
            mask |= _operand(decoded, 0) & registers.VGPRS
        return mask
    # What is read and not implicit is named; of the special registers some may be both.
    mask = decoded.reads & ~decoded.implicit_reads
    for operand in decoded.operands:
        if operand.start >= registers.SPECIAL_START and operand.role & Role.READ:
            mask |= operand.mask
    return mask


def _dpp_sources(decoded: Decoded) -> int:
    """The operands that a DPP instruction computes with. Row mask, bank mask and bounds apply to the write alone
    (CDNA4 ISA, 13.3, table of the DPP fields): what the destination held is kept there, it is no source."""
    mask = 0
    for operand in decoded.operands:
        if operand.length and operand.role & Role.READ:
            mask |= operand.mask
    return mask


def _reads(operand: Operand) -> bool:
    """True for a source, and for a destination whose old value goes through the instruction. A write of one half of
    a register leaves the other half alone and does not read it."""
    return bool(operand.role & Role.READ) or (bool(operand.role & Role.KEEP) and operand.half is None)


def _operand(decoded: Decoded, position: int) -> int:
    return decoded.operands[position].mask if position < len(decoded.operands) else 0


_CARRY_IN = (
    "v_addc_", "v_subb_", "v_subbrev_", "v_add_co_ci_", "v_sub_co_ci_", "v_subrev_co_ci_",
)  # fmt: skip


def _takes_carry(base: str) -> bool:
    return base.startswith(_CARRY_IN)


def _mask_operand(decoded: Decoded) -> int:
    """The SGPRs that an instruction reads as a lane mask: select of v_cndmask, carry-in, VCC of v_div_fmas."""
    if decoded.halves:
        return _mask_operand(decoded.halves[0]) | _mask_operand(decoded.halves[1])
    base = decoded.base
    if base.startswith("v_div_fmas"):
        return decoded.reads & registers.VCC
    if "cndmask" in base or _takes_carry(base):
        last = decoded.operands[-1] if decoded.operands else None
        if last is not None and last.mask & _SCALAR and last.role & Role.READ and len(decoded.operands) > 3:
            return last.mask & _SCALAR
        return decoded.implicit_reads & registers.VCC
    return 0


def _select(decoded: Decoded) -> int:
    return _mask_operand(decoded) if "cndmask" in decoded.base else 0


def _constant_reads(decoded: Decoded) -> int:
    """Named sources without those that are read as a lane mask (select, carry-in) or lane select."""
    if decoded.base in ("v_readlane_b32", "v_writelane_b32"):
        return _operand(decoded, 1)
    if decoded.base.startswith("v_div_fmas"):
        return _named_reads(decoded)
    mask_reads = _mask_operand(decoded)
    if not mask_reads:
        return _named_reads(decoded)
    others = 0
    for operand in decoded.operands[:-1]:
        if operand.length and operand.role & Role.READ:
            others |= operand.mask
    return others


def _store_data(decoded: Decoded) -> int:
    """The data VGPRs of a memory store or atomic."""
    classes = decoded.classes
    if not classes & Op.STORE and not classes & Op.ATOMIC:
        return 0
    if classes & (Op.BUFFER | Op.IMAGE):
        return _operand(decoded, 0)
    if classes & (Op.FLAT | Op.GLOBAL | Op.SCRATCH):
        returns = bool(decoded.operands) and bool(decoded.operands[0].role & Role.WRITE)
        return _operand(decoded, 2 if returns else 1)
    return 0


def _matrix_c(decoded: Decoded) -> int:
    return _operand(decoded, 0 if decoded.classes & Op.SPARSE else 3)


def _matrix_index(decoded: Decoded) -> int:
    return _operand(decoded, 3) if decoded.classes & Op.SPARSE else 0


def _matrix_ab(decoded: Decoded) -> int:
    """A and B, with the scale operands of the scaled forms."""
    scales = _operand(decoded, 4) | _operand(decoded, 5)
    return _operand(decoded, 1) | _operand(decoded, 2) | scales


def _lane_select(decoded: Decoded) -> int:
    return _operand(decoded, 2)


def _scalar_reads(decoded: Decoded) -> int:
    """SGPRs of a vector memory instruction: resource, sampler, base, offset."""
    return _named_reads(decoded) if decoded.classes & VMEM else decoded.reads


ROLES: dict[str, Callable[[Decoded], int]] = {
    "none": lambda decoded: 0,
    "writes": lambda decoded: decoded.writes,
    "reads": lambda decoded: decoded.reads,
    "reads_or_writes": lambda decoded: decoded.reads | decoded.writes,
    "named_reads": _named_reads,
    "dpp_sources": _dpp_sources,
    "dpp_old": lambda decoded: _operand(decoded, 0) & registers.VGPRS & ~_dpp_sources(decoded),
    "named_reads_or_writes": lambda decoded: _named_reads(decoded) | decoded.writes,
    "constant_reads": _constant_reads,
    "memory_scalar_reads": _scalar_reads,
    "first_destination": lambda decoded: _operand(decoded, 0),
    "first_source": lambda decoded: _operand(decoded, 1),
    "source_ab": lambda decoded: _operand(decoded, 1) | _operand(decoded, 2),
    "source_c": lambda decoded: _operand(decoded, 3),
    "lane_select": _lane_select,
    "lane_mask": _mask_operand,
    "select": _select,
    "store_data": _store_data,
    "matrix_d": lambda decoded: _operand(decoded, 0),
    "matrix_ab": _matrix_ab,
    "matrix_c": _matrix_c,
    "matrix_index": _matrix_index,
    "matrix_sources": lambda decoded: _matrix_ab(decoded) | _matrix_c(decoded) | _matrix_index(decoded),
    "matrix_ab_index": lambda decoded: _matrix_ab(decoded) | _matrix_index(decoded),
    "pair_reads": lambda decoded: sgpr_pairs(decoded.reads),
    "named_writes": _named_writes,
    "implicit_writes": lambda decoded: decoded.implicit_writes & ~_named_writes(decoded),
}
"""Role name -> the registers in that role. ``hwreg`` is added by the matcher, which knows the target's ids."""

_WRITES = frozenset(("writes", "named_writes", "implicit_writes", "first_destination", "matrix_d"))
_READS_AND_WRITES = frozenset(("reads_or_writes", "named_reads_or_writes"))
_HIGH = registers.LINE_LENGTH
"""Distance from a register's low half to its high half in a set with halves."""


def with_halves(role: str, decoded: Decoded, mask: int) -> int:
    """A set in which the two 16-bit halves of each VGPR are apart: bit *i* the low half (or the whole of a register
    that has no halves), bit *i* + ``LINE_LENGTH`` the high half."""
    vgprs = mask & registers.VGPRS
    low = high = vgprs
    if vgprs and any(operand.half is not None for operand in decoded.operands):
        wanted = Role.WRITE if role in _WRITES else Role.READ
        if role in _READS_AND_WRITES:
            wanted = Role.READ | Role.WRITE
        low = high = whole = 0
        for operand in decoded.operands:
            if operand.length and operand.role & wanted:
                whole |= operand.mask
                low |= operand.mask if operand.half != 1 else 0
                high |= operand.mask if operand.half != 0 else 0
        rest = vgprs & ~whole
        low, high = (low & vgprs) | rest, (high & vgprs) | rest
    return (mask & ~registers.VGPRS) | low | high << _HIGH


def both_halves(mask: int) -> int:
    """A set with both halves of each VGPR of one without halves."""
    return mask if mask < 0 else mask | (mask & registers.VGPRS) << _HIGH


def whole_registers(mask: int) -> int:
    """A set without halves from one with halves."""
    return (mask | mask >> _HIGH) & ((1 << _HIGH) - 1)
