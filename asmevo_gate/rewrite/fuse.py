"""Proposer: two instructions that have a fused form. Whether that is exact is for the proof to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from asmevo_gate.isa.instruction import Decoded, NotDecoded, Operand, Role
from asmevo_gate.isa.registers import VECTOR
from asmevo_gate.rewrite.edit_script import Delete, Edit, Replace
from asmevo_gate.rewrite.proposal import Proposal, Situation

_PLAIN = ("", "e32", "e64")


class Fusion(NamedTuple):
    """``first`` gives t from a and b, ``second`` takes t and c; ``order`` is how the fused form takes them.
    ``shifted``: t is the value shifted by ``second``, so that c is the shift amount. ``tied``: c is the destination."""

    first: str
    second: str
    fused: str
    order: str
    mac: bool = False
    shifted: bool = False
    tied: bool = False


FUSIONS = (
    Fusion("v_lshlrev_b32", "v_add_u32", "v_lshl_add_u32", "bac"),
    Fusion("v_lshlrev_b32", "v_add_nc_u32", "v_lshl_add_u32", "bac"),
    Fusion("v_lshlrev_b32", "v_or_b32", "v_lshl_or_b32", "bac"),
    Fusion("v_and_b32", "v_or_b32", "v_and_or_b32", "abc"),
    Fusion("v_or_b32", "v_or_b32", "v_or3_b32", "abc"),
    Fusion("v_add_u32", "v_add_u32", "v_add3_u32", "abc"),
    Fusion("v_add_nc_u32", "v_add_nc_u32", "v_add3_u32", "abc"),
    Fusion("v_xor_b32", "v_xor_b32", "v_xor3_b32", "abc"),
    Fusion("v_xor_b32", "v_add_u32", "v_xad_u32", "abc"),
    Fusion("v_xor_b32", "v_add_nc_u32", "v_xad_u32", "abc"),
    Fusion("v_add_u32", "v_lshlrev_b32", "v_add_lshl_u32", "abc", shifted=True),
    Fusion("v_add_nc_u32", "v_lshlrev_b32", "v_add_lshl_u32", "abc", shifted=True),
    Fusion("v_mul_u32_u24", "v_add_u32", "v_mad_u32_u24", "abc", mac=True),
    Fusion("v_mul_u32_u24", "v_add_nc_u32", "v_mad_u32_u24", "abc", mac=True),
    Fusion("v_mul_i32_i24", "v_add_u32", "v_mad_i32_i24", "abc", mac=True),
    Fusion("v_mul_i32_i24", "v_add_nc_u32", "v_mad_i32_i24", "abc", mac=True),
    Fusion("v_mul_f32", "v_add_f32", "v_mac_f32", "ab", mac=True, tied=True),
    Fusion("v_mul_f32", "v_add_f32", "v_mad_f32", "abc", mac=True),
)
"""Fused forms of the integer ALU (exact), and of float multiply and add, which may flush denormals: those
are proposed so that a report can say why they are refused."""


class Fuse:
    """Fused forms; with ``mac_merge`` off none of a multiplication and an addition."""

    name = "fuse"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """All pairs that do not touch each other at once, then each alone."""
        pairs = list(_pairs(situation))
        together: list[Edit] = []
        taken: set[int] = set()
        for numbers, edits, _ in pairs:
            if not taken & set(numbers):
                taken |= set(numbers)
                together += edits
        if len(together) > 2:
            yield Proposal(tuple(together), self.name, f"fuse {len(together) // 2} pairs of instructions")
        for _, edits, title in pairs:
            yield Proposal(edits, self.name, title)


def _pairs(situation: Situation) -> Iterator[tuple[tuple[int, int], tuple[Edit, ...], str]]:
    for number, first in enumerate(situation.decoded):
        for fusion in FUSIONS:
            if first.base != fusion.first or (fusion.mac and not situation.options.mac_merge):
                continue
            later = _only_reader(situation, number)
            if later is None:
                continue
            text = _fused(situation, fusion, first, situation.decoded[later])
            if text:
                edits = (Replace(later, text), Delete(number))
                yield (number, later), edits, f"fuse '{first.text}' and '{situation.decoded[later].text}'"
                break


def _only_reader(situation: Situation, number: int) -> int | None:
    """The instruction that alone reads the result, where the sources are still as they were."""
    first = situation.decoded[number]
    result, sources = first.operands[0].mask, 0
    for operand in first.operands[1:]:
        sources |= operand.mask
    reader = None
    for later in range(number + 1, len(situation.decoded)):
        one = situation.decoded[later]
        if one.reads & result:
            if reader is not None:
                return None
            reader = later
        if reader is None and one.writes & (sources | result):
            return None
        if reader is not None and one.writes & result == result and not one.keeps & result:
            return reader
    return None if result & situation.region.live_out else reader


def _fused(situation: Situation, fusion: Fusion, first: Decoded, second: Decoded) -> str:
    if second.base != fusion.second or not (_plain(first) and _plain(second)):
        return ""
    result = first.operands[0]
    destination, left, right = second.operands
    if fusion.shifted:
        value, other = right, left
    elif left.mask & result.mask:
        value, other = left, right
    else:
        value, other = right, left
    if value.text != result.text or other.mask & result.mask:
        return ""
    names = {"a": first.operands[1].text, "b": first.operands[2].text, "c": other.text}
    if fusion.tied and other.text != destination.text:
        return ""
    text = f"{fusion.fused} {', '.join([destination.text, *(names[letter] for letter in fusion.order)])}"
    meaning = situation.isa.decode(text)
    return "" if isinstance(meaning, NotDecoded) or _scalar_sources(meaning) > 1 else text


def _scalar_sources(decoded: Decoded) -> int:
    """Scalar registers and literals that the instruction reads: one is legal on every GPU (LLVM, getConstantBusLimit).
    Float inline constants count as literals, which may only lose a fusion."""
    registers = {operand.start for operand in decoded.operands[1:] if operand.mask & ~VECTOR}
    literals = any(_is_literal(operand) for operand in decoded.operands[1:])
    return len(registers) + literals


def _is_literal(operand: Operand) -> bool:
    value = operand.value
    return value is not None and not (isinstance(value, int) and -16 <= value <= 64)


def _plain(decoded: Decoded) -> bool:
    """Three operands, one written, without modifiers of any kind."""
    operands = decoded.operands
    return (
        len(operands) == 3
        and decoded.variant in _PLAIN
        and not decoded.modifiers
        and operands[0].role == Role.WRITE
        and not decoded.implicit_writes
        and all(_bare(operand) for operand in operands)
    )


def _bare(operand: Operand) -> bool:
    return (
        operand.half is None and not operand.indexed and not operand.text.startswith(("-", "|", "abs", "neg", "sext"))
    )
