"""Vector integer arithmetic: sums with and without carries, products, minima and maxima."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.terms import Term


@operation("v_add_u32 v_add_nc_u32 v_add_nc_i32 v_add_i32", "u32", "u32 u32")
@operation("v_add_u16 v_add_nc_u16 v_add_nc_i16", "u16", "u16 u16")
@operation("v_add_nc_u64", "u64", "u64 u64")
def add(call: Call, a: Term, b: Term) -> Term:
    """a + b"""
    return call.terms.add(a, b)


@operation("v_sub_u32 v_sub_nc_u32 v_sub_nc_i32 v_sub_i32", "u32", "u32 u32")
@operation("v_sub_u16 v_sub_nc_u16 v_sub_nc_i16", "u16", "u16 u16")
@operation("v_sub_nc_u64", "u64", "u64 u64")
def subtract(call: Call, a: Term, b: Term) -> Term:
    """a - b"""
    return call.terms.sub(a, b)


@operation("v_subrev_u32 v_subrev_nc_u32", "u32", "u32 u32")
@operation("v_subrev_u16", "u16", "u16 u16")
def subtract_reversed(call: Call, a: Term, b: Term) -> Term:
    """b - a"""
    return call.terms.sub(b, a)


def carry_add(call: Call, a: Term, b: Term, carry: Term | None) -> tuple[Term, Term]:
    """Sum and carry out of a + b + carry in."""
    terms, width = call.terms, a.width
    parts = [terms.zext(a, width + 1), terms.zext(b, width + 1)]
    if carry is not None:
        parts.append(terms.zext(carry, width + 1))
    wide = terms.add(*parts)
    return terms.extract(wide, width - 1, 0), terms.extract(wide, width, width)


def borrow_subtract(call: Call, a: Term, b: Term, borrow: Term | None) -> tuple[Term, Term]:
    """Difference and borrow out of a - b - borrow in."""
    terms, width = call.terms, a.width
    parts = [(1, terms.zext(a, width + 1)), (-1, terms.zext(b, width + 1))]
    if borrow is not None:
        parts.append((-1, terms.zext(borrow, width + 1)))
    wide = terms.linear(width + 1, parts)
    return terms.extract(wide, width - 1, 0), terms.extract(wide, width, width)


@operation("v_add_co_u32", "u32 mask", "u32 u32")
def add_carry_out(call: Call, a: Term, b: Term) -> tuple[Term, Term]:
    """a + b, carry"""
    return carry_add(call, a, b, None)


@operation("v_addc_co_u32 v_add_co_ci_u32", "u32 mask", "u32 u32 mask")
def add_with_carry(call: Call, a: Term, b: Term, carry: Term) -> tuple[Term, Term]:
    """a + b + carry, carry"""
    return carry_add(call, a, b, carry)


@operation("v_sub_co_u32", "u32 mask", "u32 u32")
def subtract_borrow_out(call: Call, a: Term, b: Term) -> tuple[Term, Term]:
    """a - b, borrow"""
    return borrow_subtract(call, a, b, None)


@operation("v_subrev_co_u32", "u32 mask", "u32 u32")
def subtract_reversed_borrow_out(call: Call, a: Term, b: Term) -> tuple[Term, Term]:
    """b - a, borrow"""
    return borrow_subtract(call, b, a, None)


@operation("v_subb_co_u32 v_sub_co_ci_u32", "u32 mask", "u32 u32 mask")
def subtract_with_borrow(call: Call, a: Term, b: Term, borrow: Term) -> tuple[Term, Term]:
    """a - b - borrow, borrow"""
    return borrow_subtract(call, a, b, borrow)


@operation("v_subbrev_co_u32 v_subrev_co_ci_u32", "u32 mask", "u32 u32 mask")
def subtract_reversed_with_borrow(call: Call, a: Term, b: Term, borrow: Term) -> tuple[Term, Term]:
    """b - a - borrow, borrow"""
    return borrow_subtract(call, b, a, borrow)


@operation("v_mul_lo_u32 v_mul_lo_i32", "u32", "u32 u32")
@operation("v_mul_lo_u16", "u16", "u16 u16")
@operation("v_mul_u64", "u64", "u64 u64")
def multiply(call: Call, a: Term, b: Term) -> Term:
    """Low half of a * b"""
    return call.terms.mul(a, b)


def high_product(call: Call, a: Term, b: Term, signed: bool) -> Term:
    """High half of the product of two 32-bit values."""
    terms = call.terms
    extend = terms.sext if signed else terms.zext
    return terms.extract(terms.mul(extend(a, 64), extend(b, 64)), 63, 32)


@operation("v_mul_hi_u32", "u32", "u32 u32")
def multiply_high(call: Call, a: Term, b: Term) -> Term:
    """High half of a * b, unsigned"""
    return high_product(call, a, b, signed=False)


@operation("v_mul_hi_i32", "i32", "i32 i32")
def multiply_high_signed(call: Call, a: Term, b: Term) -> Term:
    """High half of a * b, signed"""
    return high_product(call, a, b, signed=True)


def low_24(call: Call, a: Term, signed: bool, width: int = 32) -> Term:
    """The low 24 bits, extended."""
    terms = call.terms
    part = terms.extract(a, 23, 0)
    return terms.sext(part, width) if signed else terms.zext(part, width)


@operation("v_mul_u32_u24", "u32", "u32 u32")
def multiply_24(call: Call, a: Term, b: Term) -> Term:
    """a[23:0] * b[23:0]"""
    return call.terms.mul(low_24(call, a, False), low_24(call, b, False))


@operation("v_mul_i32_i24", "i32", "i32 i32")
def multiply_24_signed(call: Call, a: Term, b: Term) -> Term:
    """a[23:0] * b[23:0], signed"""
    return call.terms.mul(low_24(call, a, True), low_24(call, b, True))


@operation("v_mul_hi_u32_u24", "u32", "u32 u32")
def multiply_high_24(call: Call, a: Term, b: Term) -> Term:
    """High half of a[23:0] * b[23:0]"""
    terms = call.terms
    return terms.extract(terms.mul(low_24(call, a, False, 64), low_24(call, b, False, 64)), 63, 32)


@operation("v_mul_hi_i32_i24", "i32", "i32 i32")
def multiply_high_24_signed(call: Call, a: Term, b: Term) -> Term:
    """High half of a[23:0] * b[23:0], signed"""
    terms = call.terms
    return terms.extract(terms.mul(low_24(call, a, True, 64), low_24(call, b, True, 64)), 63, 32)


@operation("v_mad_u32_u24", "u32", "u32 u32 u32")
def multiply_add_24(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a[23:0] * b[23:0] + c"""
    return call.terms.add(multiply_24(call, a, b), c)


@operation("v_mad_i32_i24", "i32", "i32 i32 i32")
def multiply_add_24_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a[23:0] * b[23:0] + c, signed"""
    return call.terms.add(multiply_24_signed(call, a, b), c)


@operation("v_mad_u32", "u32", "u32 u32 u32")
@operation("v_mad_u16 v_mad_i16", "u16", "u16 u16 u16")
def multiply_add(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c"""
    return call.terms.add(call.terms.mul(a, b), c)


@operation("v_mad_u32_u16", "u32", "u16 u16 u32")
def multiply_add_16(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c of unsigned halves"""
    terms = call.terms
    return terms.add(terms.mul(terms.zext(a, 32), terms.zext(b, 32)), c)


@operation("v_mad_i32_i16", "i32", "i16 i16 i32")
def multiply_add_16_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c of signed halves"""
    terms = call.terms
    return terms.add(terms.mul(terms.sext(a, 32), terms.sext(b, 32)), c)


@operation("v_mad_u64_u32 v_mad_co_u64_u32", "u64 mask", "u32 u32 u64")
def multiply_add_64(call: Call, a: Term, b: Term, c: Term) -> tuple[Term, Term]:
    """a * b + c in 64 bits, carry"""
    terms = call.terms
    total = terms.add(terms.mul(terms.zext(a, 64), terms.zext(b, 64)), c)
    return total, terms.ult(total, c)


@operation("v_mad_i64_i32 v_mad_co_i64_i32", "i64 mask", "i32 i32 i64")
def multiply_add_64_signed(call: Call, a: Term, b: Term, c: Term) -> tuple[Term, Term]:
    """a * b + c in 64 bits; what becomes of the carry is not documented"""
    terms = call.terms
    total = terms.add(terms.mul(terms.sext(a, 64), terms.sext(b, 64)), c)
    return total, terms.apply("carry of mad_i64_i32", 1, (a, b, c))


@operation("v_mad_nc_i64_i32", "i64", "i32 i32 i64")
def multiply_add_64_signed_no_carry(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c in 64 bits"""
    return multiply_add_64_signed(call, a, b, c)[0]


@operation("v_mad_nc_u64_u32", "u64", "u32 u32 u64")
def multiply_add_64_no_carry(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a * b + c in 64 bits"""
    return multiply_add_64(call, a, b, c)[0]


def _in_order(a: Term, b: Term) -> tuple[Term, Term]:
    """The operands in an order that does not depend on how they were written."""
    return (a, b) if a.id <= b.id else (b, a)


@operation("v_min_u32", "u32", "u32 u32")
@operation("v_min_u16", "u16", "u16 u16")
@operation("v_min_u64", "u64", "u64 u64")
def minimum(call: Call, a: Term, b: Term) -> Term:
    """Smaller, unsigned"""
    a, b = _in_order(a, b)
    return call.terms.ite(call.terms.ult(a, b), a, b)


@operation("v_max_u32", "u32", "u32 u32")
@operation("v_max_u16", "u16", "u16 u16")
@operation("v_max_u64", "u64", "u64 u64")
def maximum(call: Call, a: Term, b: Term) -> Term:
    """Larger, unsigned"""
    a, b = _in_order(a, b)
    return call.terms.ite(call.terms.ult(b, a), a, b)


@operation("v_min_i32", "i32", "i32 i32")
@operation("v_min_i16", "i16", "i16 i16")
@operation("v_min_i64", "i64", "i64 i64")
def minimum_signed(call: Call, a: Term, b: Term) -> Term:
    """Smaller, signed"""
    a, b = _in_order(a, b)
    return call.terms.ite(call.terms.slt(a, b), a, b)


@operation("v_max_i32", "i32", "i32 i32")
@operation("v_max_i16", "i16", "i16 i16")
@operation("v_max_i64", "i64", "i64 i64")
def maximum_signed(call: Call, a: Term, b: Term) -> Term:
    """Larger, signed"""
    a, b = _in_order(a, b)
    return call.terms.ite(call.terms.slt(b, a), a, b)


@operation("v_min3_u32", "u32", "u32 u32 u32")
@operation("v_min3_u16", "u16", "u16 u16 u16")
def minimum_of_3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Smallest, unsigned"""
    return minimum(call, minimum(call, a, b), c)


@operation("v_max3_u32", "u32", "u32 u32 u32")
@operation("v_max3_u16", "u16", "u16 u16 u16")
def maximum_of_3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Largest, unsigned"""
    return maximum(call, maximum(call, a, b), c)


@operation("v_min3_i32", "i32", "i32 i32 i32")
@operation("v_min3_i16", "i16", "i16 i16 i16")
def minimum_of_3_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Smallest, signed"""
    return minimum_signed(call, minimum_signed(call, a, b), c)


@operation("v_max3_i32", "i32", "i32 i32 i32")
@operation("v_max3_i16", "i16", "i16 i16 i16")
def maximum_of_3_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Largest, signed"""
    return maximum_signed(call, maximum_signed(call, a, b), c)


@operation("v_maxmin_u32", "u32", "u32 u32 u32")
def minimum_of_maximum(call: Call, a: Term, b: Term, c: Term) -> Term:
    """min(max(a, b), c), unsigned"""
    return minimum(call, maximum(call, a, b), c)


@operation("v_minmax_u32", "u32", "u32 u32 u32")
def maximum_of_minimum(call: Call, a: Term, b: Term, c: Term) -> Term:
    """max(min(a, b), c), unsigned"""
    return maximum(call, minimum(call, a, b), c)


@operation("v_maxmin_i32", "i32", "i32 i32 i32")
def minimum_of_maximum_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """min(max(a, b), c), signed"""
    return minimum_signed(call, maximum_signed(call, a, b), c)


@operation("v_minmax_i32", "i32", "i32 i32 i32")
def maximum_of_minimum_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """max(min(a, b), c), signed"""
    return maximum_signed(call, minimum_signed(call, a, b), c)


@operation("v_med3_u32", "u32", "u32 u32 u32")
@operation("v_med3_u16", "u16", "u16 u16 u16")
def median(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Middle value, unsigned"""
    return maximum(call, minimum(call, a, b), minimum(call, maximum(call, a, b), c))


@operation("v_med3_i32", "i32", "i32 i32 i32")
@operation("v_med3_i16", "i16", "i16 i16 i16")
def median_signed(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Middle value, signed"""
    return maximum_signed(call, minimum_signed(call, a, b), minimum_signed(call, maximum_signed(call, a, b), c))


@operation("v_add3_u32", "u32", "u32 u32 u32")
def add_3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a + b + c"""
    return call.terms.add(a, b, c)


@operation("v_xad_u32", "u32", "u32 u32 u32")
def xor_add(call: Call, a: Term, b: Term, c: Term) -> Term:
    """(a ^ b) + c"""
    return call.terms.add(call.terms.xor(a, b), c)


@operation("v_sad_u32", "u32", "u32 u32 u32")
def absolute_difference(call: Call, a: Term, b: Term, c: Term) -> Term:
    """abs(a - b) + c, unsigned"""
    terms = call.terms
    return terms.add(terms.ite(terms.ult(a, b), terms.sub(b, a), terms.sub(a, b)), c)


def _saturated_add(call: Call, a: Term, b: Term) -> Term:
    """Unsigned sum, at most all ones"""
    total, carry = carry_add(call, a, b, None)
    return call.terms.ite(carry, call.terms.const(-1, a.width), total)


def _saturated_subtract(call: Call, a: Term, b: Term) -> Term:
    """Unsigned difference, at least 0"""
    difference, borrow = borrow_subtract(call, a, b, None)
    return call.terms.ite(borrow, call.terms.const(0, a.width), difference)


SATURATED: dict[str, Meaning] = {
    **dict.fromkeys(("v_add_u32", "v_add_nc_u32", "v_add_u16", "v_add_nc_u16"), _saturated_add),
    **dict.fromkeys(("v_sub_u32", "v_sub_nc_u32", "v_sub_u16", "v_sub_nc_u16"), _saturated_subtract),
}
"""With ``clamp`` the result does not wrap (ISA manuals, "VOP3 clamp: integer saturation")."""
