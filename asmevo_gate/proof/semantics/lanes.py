"""Access to single lanes and positions among lanes."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, operation
from asmevo_gate.proof.terms import Term


def _lane_number(call: Call, index: Term) -> Term:
    return call.terms.and_(index, call.terms.const(call.wave_size - 1, 32))


@operation("v_readlane_b32", "b32", "whole u32")
def read_lane(call: Call, value: Term, index: Term) -> Term:
    """The value in one lane, whatever EXEC says"""
    return call.terms.read_lane(value, _lane_number(call, index))


@operation("v_readfirstlane_b32", "b32", "first exec")
def read_first_lane(call: Call, value: Term, exec_mask: Term) -> Term:
    """The value in the first active lane, in lane 0 when none is active"""
    terms = call.terms
    first = terms.trailing_zeros(exec_mask)
    index = terms.extract(terms.zext(first, 64), 31, 0) if first.width == 32 else terms.extract(first, 31, 0)
    none = terms.eq(exec_mask, terms.const(0, exec_mask.width))
    return terms.read_lane(value, terms.ite(none, terms.const(0, 32), index))


@operation("v_writelane_b32", "all_lanes", "b32 u32", accumulates=True)
def write_lane(call: Call, value: Term, index: Term, old: Term) -> Term:
    """The value in one lane, whatever EXEC says; the other lanes keep theirs"""
    terms = call.terms
    return terms.ite(terms.eq(terms.lane, _lane_number(call, index)), value, old)


def _lanes_below(call: Call, mask: Term, base: int) -> Term:
    """Bits of a 32-bit part of a mask that stand for lanes below this one."""
    terms = call.terms
    number = terms.sub(terms.lane, terms.const(base, 32))
    count = terms.ite(terms.ult(terms.lane, terms.const(base, 32)), terms.const(0, 32), number)
    count = terms.ite(terms.ult(count, terms.const(32, 32)), count, terms.const(32, 32))
    ones = terms.sub(terms.shl(terms.const(1, 64), terms.zext(count, 64)), terms.const(1, 64))
    return terms.count_ones(terms.and_(mask, terms.extract(ones, 31, 0)))


@operation("v_mbcnt_lo_u32_b32", "u32", "b32 u32")
def masked_bit_count_low(call: Call, mask: Term, start: Term) -> Term:
    """Set bits of the mask for lanes 0-31 below this lane, plus start"""
    return call.terms.add(_lanes_below(call, mask, 0), start)


@operation("v_mbcnt_hi_u32_b32", "u32", "b32 u32")
def masked_bit_count_high(call: Call, mask: Term, start: Term) -> Term:
    """Set bits of the mask for lanes 32-63 below this lane, plus start"""
    return call.terms.add(_lanes_below(call, mask, 32), start)
