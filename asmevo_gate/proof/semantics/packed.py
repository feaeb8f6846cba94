"""Packed instructions: two halves (or two dwords) at once. Their sources come arranged by op_sel and neg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.semantics import bits, integer
from asmevo_gate.proof.semantics.floats import of
from asmevo_gate.proof.terms import Term


def _each_half(meaning: Callable[..., Any], size: int) -> Meaning:
    def both(call: Call, *sources: Term) -> Term:
        terms = call.terms
        halves = [
            meaning(call, *(terms.extract(source, low + size - 1, low) for source in sources)) for low in (size, 0)
        ]
        return terms.concat(*halves)

    return both


def _register() -> None:
    for name, function, count in (("add", "fadd", 2), ("mul", "fmul", 2), ("fma", "ffma", 3)):
        kinds = " ".join(["pk_f32"] * count)
        operation(f"v_pk_{name}_f32", "b64", kinds)(_each_half(of(function, "f32"), 32))
        kinds = " ".join(["pk_f16"] * count)
        operation(f"v_pk_{name}_f16", "b32", kinds)(_each_half(of(function, "f16"), 16))
    for name, function in (("max", "fmax"), ("min", "fmin"), ("max_num", "fmax_num"), ("min_num", "fmin_num")):
        operation(f"v_pk_{name}_f16", "b32", "pk_f16 pk_f16")(_each_half(of(function, "f16"), 16))
    integers: tuple[tuple[str, Callable[..., Term], str, int], ...] = (
        ("v_pk_add_u16 v_pk_add_i16", integer.add, "pk_u16", 2),
        ("v_pk_sub_u16 v_pk_sub_i16", integer.subtract, "pk_u16", 2),
        ("v_pk_mul_lo_u16", integer.multiply, "pk_u16", 2),
        ("v_pk_mad_u16 v_pk_mad_i16", integer.multiply_add, "pk_u16", 3),
        ("v_pk_min_u16", integer.minimum, "pk_u16", 2),
        ("v_pk_max_u16", integer.maximum, "pk_u16", 2),
        ("v_pk_min_i16", integer.minimum_signed, "pk_i16", 2),
        ("v_pk_max_i16", integer.maximum_signed, "pk_i16", 2),
        ("v_pk_lshlrev_b16", bits.shift_left, "pk_u16", 2),
        ("v_pk_lshrrev_b16", bits.shift_right, "pk_u16", 2),
        ("v_pk_ashrrev_i16", bits.shift_right_signed, "pk_i16", 2),
    )
    for bases, meaning, kind, count in integers:
        operation(bases, "b32", " ".join([kind] * count))(_each_half(meaning, 16))


@operation("v_pk_mov_b32", "b64", "pk_b64 pk_b64")
def move_pair(call: Call, a: Term, b: Term) -> Term:
    """Low dword from the first source, high dword from the second; op_sel says which half of each"""
    terms = call.terms
    return terms.concat(terms.extract(b, 31, 0), terms.extract(a, 31, 0))


@operation("v_pack_b32_f16", "b32", "f16 f16")
def pack(call: Call, a: Term, b: Term) -> Term:
    """{b, a}; flushes as MODE says"""
    terms = call.terms
    canonical = [terms.apply("fcanonical.f16", 16, (half, call.mode)) for half in (b, a)]
    return terms.concat(*canonical)


SATURATED: dict[str, Meaning] = {
    "v_pk_add_u16": _each_half(integer.SATURATED["v_add_u16"], 16),
    "v_pk_sub_u16": _each_half(integer.SATURATED["v_sub_u16"], 16),
}
"""With ``clamp`` neither half wraps."""

_register()
