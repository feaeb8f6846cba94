"""Vector floating point: applications named by operation and format, which depend on MODE (rounding, denormals)."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.terms import Term

FORMATS = ("f16", "f32", "f64")


def flip_sign(call: Call, a: Term) -> Term:
    """-a, the sign bit alone"""
    return call.terms.xor(a, call.terms.const(1 << (a.width - 1), a.width))


def of(name: str, kind: str) -> Callable[..., Term]:
    """The float function ``name`` in a format, with MODE as its last argument."""
    full = f"{name}.{kind}"

    def apply(call: Call, *sources: Term) -> Term:
        return call.terms.apply(full, sources[0].width, (*sources, call.mode))

    return apply


def _subtract(kind: str, swapped: bool) -> Meaning:
    add = of("fadd", kind)

    def meaning(call: Call, a: Term, b: Term) -> Term:
        return add(call, b, flip_sign(call, a)) if swapped else add(call, a, flip_sign(call, b))

    return meaning


def _register_binary() -> None:
    for kind in FORMATS:
        pair, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
        operation(f"v_add_{kind}", kind, pair)(of("fadd", kind))
        operation(f"v_mul_{kind}", kind, pair)(of("fmul", kind))
        if kind != "f64":
            operation(f"v_sub_{kind}", kind, pair)(_subtract(kind, False))
            operation(f"v_subrev_{kind}", kind, pair)(_subtract(kind, True))
            operation(f"v_max3_{kind}", kind, three)(of("fmax3", kind))
            operation(f"v_min3_{kind}", kind, three)(of("fmin3", kind))
            operation(f"v_med3_{kind}", kind, three)(of("fmed3", kind))
            operation(f"v_mac_{kind}", kind, pair, accumulates=True)(of("fmad", kind))
            operation(f"v_mad_{kind} v_madmk_{kind} v_madak_{kind}", kind, three)(of("fmad", kind))
        operation(f"v_max_{kind}", kind, pair)(of("fmax", kind))
        operation(f"v_min_{kind}", kind, pair)(of("fmin", kind))
        operation(f"v_max_num_{kind}", kind, pair)(of("fmax_num", kind))
        operation(f"v_min_num_{kind}", kind, pair)(of("fmin_num", kind))
        operation(f"v_fmamk_{kind} v_fmaak_{kind}", kind, three)(of("ffma", kind))
        operation(f"v_fma_{kind}", kind, three)(of("ffma", kind))
        operation(f"v_fmac_{kind}", kind, pair, accumulates=True)(of("ffma", kind))
        operation(f"v_div_fixup_{kind}", kind, three)(of("fdiv_fixup", kind))
        for name in ("trunc", "ceil", "rndne", "floor", "fract", "rcp", "rsq", "sqrt", "frexp_mant"):
            operation(f"v_{name}_{kind}", kind, kind)(of(f"f{name}", kind))
        if kind != "f64":
            for name in ("exp", "log", "sin", "cos"):
                operation(f"v_{name}_{kind}", kind, kind)(of(f"f{name}", kind))


@operation("v_rcp_iflag_f32", "f32", "f32")
def reciprocal_iflag(call: Call, a: Term) -> Term:
    """1 / a, for integer division"""
    return call.terms.apply("frcp_iflag.f32", 32, (a, call.mode))


@operation("v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32", "f32 f32")
def multiply_legacy(call: Call, a: Term, b: Term) -> Term:
    """a * b, where 0 times anything is 0"""
    return call.terms.apply("fmul_legacy.f32", 32, (a, b, call.mode))


@operation("v_ldexp_f32", "f32", "f32 i32")
def scale_f32(call: Call, a: Term, exponent: Term) -> Term:
    """a * 2^exponent"""
    return call.terms.apply("fldexp.f32", 32, (a, exponent, call.mode))


@operation("v_ldexp_f64", "f64", "f64 i32")
def scale_f64(call: Call, a: Term, exponent: Term) -> Term:
    """a * 2^exponent"""
    return call.terms.apply("fldexp.f64", 64, (a, exponent, call.mode))


@operation("v_ldexp_f16", "f16", "f16 i16")
def scale_f16(call: Call, a: Term, exponent: Term) -> Term:
    """a * 2^exponent"""
    return call.terms.apply("fldexp.f16", 16, (a, call.terms.sext(exponent, 32), call.mode))


@operation("v_frexp_exp_i32_f32", "i32", "f32")
def exponent_f32(call: Call, a: Term) -> Term:
    """Exponent of a, 0 for infinity and NaN"""
    return call.terms.apply("ffrexp_exp.f32", 32, (a, call.mode))


@operation("v_frexp_exp_i32_f64", "i32", "f64")
def exponent_f64(call: Call, a: Term) -> Term:
    """Exponent of a, 0 for infinity and NaN"""
    return call.terms.apply("ffrexp_exp.f64", 32, (a, call.mode))


@operation("v_frexp_exp_i16_f16", "i16", "f16")
def exponent_f16(call: Call, a: Term) -> Term:
    """Exponent of a, 0 for infinity and NaN"""
    return call.terms.apply("ffrexp_exp.f16", 16, (a, call.mode))


@operation("v_div_scale_f32", "f32 mask", "f32 f32 f32")
def division_scale_f32(call: Call, a: Term, b: Term, c: Term) -> tuple[Term, Term]:
    """Scaled operand of a division, and whether the quotient needs scaling back"""
    args = (a, b, c, call.mode)
    return call.terms.apply("fdiv_scale.f32", 32, args), call.terms.apply("fdiv_scaled.f32", 1, args)


@operation("v_div_scale_f64", "f64 mask", "f64 f64 f64")
def division_scale_f64(call: Call, a: Term, b: Term, c: Term) -> tuple[Term, Term]:
    """Scaled operand of a division, and whether the quotient needs scaling back"""
    args = (a, b, c, call.mode)
    return call.terms.apply("fdiv_scale.f64", 64, args), call.terms.apply("fdiv_scaled.f64", 1, args)


@operation("v_div_fmas_f32", "f32", "f32 f32 f32 vcc")
def division_fma_f32(call: Call, a: Term, b: Term, c: Term, scaled: Term) -> Term:
    """a * b + c, scaled back where VCC is set"""
    return call.terms.apply("fdiv_fmas.f32", 32, (a, b, c, scaled, call.mode))


@operation("v_div_fmas_f64", "f64", "f64 f64 f64 vcc")
def division_fma_f64(call: Call, a: Term, b: Term, c: Term, scaled: Term) -> Term:
    """a * b + c, scaled back where VCC is set"""
    return call.terms.apply("fdiv_fmas.f64", 64, (a, b, c, scaled, call.mode))


@operation("v_fma_mix_f32", "f32", "mix mix mix")
def mixed_fma(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c of f32 and widened f16 sources"""
    return call.terms.apply("ffma.f32", 32, (a, b, c, call.mode))


@operation("v_fma_mixlo_f16", "low16", "mix mix mix")
@operation("v_fma_mixhi_f16", "high16", "mix mix mix")
def mixed_fma_half(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c of f32 and widened f16 sources, to one half of the destination; rounded once, from the exact sum"""
    return call.terms.apply("ffma_to_half.f32", 16, (a, b, c, call.mode))


_register_binary()
