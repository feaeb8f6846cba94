"""Vector conversions between numbers and formats."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.terms import Term


def _convert(name: str, width: int) -> Meaning:
    def meaning(call: Call, a: Term) -> Term:
        return call.terms.apply(name, width, (a, call.mode))

    return meaning


def _register() -> None:
    for base, result, source, name in (
        ("v_cvt_f32_u32", "f32", "u32", "float_from_unsigned.f32"),
        ("v_cvt_f32_i32", "f32", "i32", "float_from_signed.f32"),
        ("v_cvt_f64_u32", "f64", "u32", "float_from_unsigned.f64"),
        ("v_cvt_f64_i32", "f64", "i32", "float_from_signed.f64"),
        ("v_cvt_f16_u16", "f16", "u16", "float_from_unsigned.f16"),
        ("v_cvt_f16_i16", "f16", "i16", "float_from_signed.f16"),
        ("v_cvt_u32_f32", "u32", "f32", "unsigned_from_float.f32"),
        ("v_cvt_i32_f32", "i32", "f32", "signed_from_float.f32"),
        ("v_cvt_u32_f64", "u32", "f64", "unsigned_from_float.f64"),
        ("v_cvt_i32_f64", "i32", "f64", "signed_from_float.f64"),
        ("v_cvt_u16_f16", "u16", "f16", "unsigned_from_float.f16"),
        ("v_cvt_i16_f16", "i16", "f16", "signed_from_float.f16"),
        ("v_cvt_f16_f32", "f16", "f32", "float_narrow.f32.f16"),
        ("v_cvt_f32_f16", "f32", "f16", "float_widen.f16.f32"),
        ("v_cvt_f32_f64", "f32", "f64", "float_narrow.f64.f32"),
        ("v_cvt_f64_f32", "f64", "f32", "float_widen.f32.f64"),
        ("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "i32", "f32", "signed_nearest_from_float.f32"),
        ("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "i32", "f32", "signed_floor_from_float.f32"),
    ):
        operation(base, result, source)(_convert(name, int(result[1:])))


def _byte_to_float(index: int) -> Meaning:
    def meaning(call: Call, a: Term) -> Term:
        terms = call.terms
        byte = terms.zext(terms.extract(a, 8 * index + 7, 8 * index), 32)
        return terms.apply("float_from_unsigned.f32", 32, (byte, call.mode))

    return meaning


def _register_bytes() -> None:
    for index in range(4):
        operation(f"v_cvt_f32_ubyte{index}", "f32", "u32")(_byte_to_float(index))


_register()
_register_bytes()
