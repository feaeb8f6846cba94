"""Moves, selections and swaps of vector registers."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, operation
from asmevo_gate.proof.terms import Term


@operation("v_mov_b32", "b32", "b32")
@operation("v_mov_b64", "b64", "b64")
@operation("v_mov_b16", "b16", "b16")
def move(call: Call, a: Term) -> Term:
    """a"""
    del call
    return a


@operation("v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "acc", "acc")
def move_accumulator(call: Call, a: Term) -> Term:
    """a, between VGPRs and AGPRs"""
    del call
    return a


@operation("v_cndmask_b32", "b32", "f32 f32 mask")
@operation("v_cndmask_b16", "b16", "f16 f16 mask")
def select(call: Call, a: Term, b: Term, condition: Term) -> Term:
    """b where the mask is set, else a"""
    return call.terms.ite(condition, b, a)


@operation("v_sat_pk_u8_i16", "b32", "b32")
def saturate_pair(call: Call, a: Term) -> Term:
    """Two signed halves to two bytes, saturated"""
    terms = call.terms
    parts = []
    for low in (16, 0):
        half = terms.extract(a, low + 15, low)
        negative = terms.slt(half, terms.const(0, 16))
        large = terms.slt(terms.const(255, 16), half)
        byte = terms.ite(large, terms.const(255, 8), terms.extract(half, 7, 0))
        parts.append(terms.ite(negative, terms.const(0, 8), byte))
    return terms.concat(terms.const(0, 16), *parts)
