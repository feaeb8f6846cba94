"""Vector bit operations: logic, shifts, fields, permutation of bytes, counts."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, operation
from asmevo_gate.proof.terms import Term, Terms


@operation("v_and_b32", "b32", "b32 b32")
@operation("v_and_b16", "b16", "b16 b16")
def and_(call: Call, a: Term, b: Term) -> Term:
    """a & b"""
    return call.terms.and_(a, b)


@operation("v_or_b32", "b32", "b32 b32")
@operation("v_or_b16", "b16", "b16 b16")
def or_(call: Call, a: Term, b: Term) -> Term:
    """a | b"""
    return call.terms.or_(a, b)


@operation("v_xor_b32", "b32", "b32 b32")
@operation("v_xor_b16", "b16", "b16 b16")
def xor(call: Call, a: Term, b: Term) -> Term:
    """a ^ b"""
    return call.terms.xor(a, b)


@operation("v_xnor_b32", "b32", "b32 b32")
def xnor(call: Call, a: Term, b: Term) -> Term:
    """~(a ^ b)"""
    return call.terms.not_(call.terms.xor(a, b))


@operation("v_not_b32", "b32", "b32")
@operation("v_not_b16", "b16", "b16")
def not_(call: Call, a: Term) -> Term:
    """~a"""
    return call.terms.not_(a)


@operation("v_or3_b32", "b32", "b32 b32 b32")
def or_3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a | b | c"""
    return call.terms.or_(a, b, c)


@operation("v_xor3_b32", "b32", "b32 b32 b32")
def xor_3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """a ^ b ^ c"""
    return call.terms.xor(a, b, c)


@operation("v_and_or_b32", "b32", "b32 b32 b32")
def and_or(call: Call, a: Term, b: Term, c: Term) -> Term:
    """(a & b) | c"""
    return call.terms.or_(call.terms.and_(a, b), c)


@operation("v_bfi_b32", "b32", "b32 b32 b32")
def insert_field(call: Call, mask: Term, field: Term, other: Term) -> Term:
    """(mask & field) | (~mask & other)"""
    terms = call.terms
    return terms.or_(terms.and_(mask, field), terms.and_(terms.not_(mask), other))


def _bitop3(call: Call, sources: tuple[Term, ...]) -> Term:
    """The function of three bits whose truth table ``bitop3`` is: bit (a << 2 | b << 1 | c) of the table (gfx950 and
    gfx1250: V_BITOP3)."""
    terms, table = call.terms, int(call.modifiers.get("bitop3", "0"), 0)
    width = sources[0].width
    cases: list[Term] = []
    for row in range(8):
        if table >> row & 1:
            factors = [source if row >> (2 - place) & 1 else terms.not_(source) for place, source in enumerate(sources)]
            cases.append(terms.and_(*factors))
    return terms.or_(*cases) if cases else terms.const(0, width)


@operation("v_bitop3_b32", "b32", "b32 b32 b32")
@operation("v_bitop3_b16", "b16", "b16 b16 b16")
def bitop3(call: Call, a: Term, b: Term, c: Term) -> Term:
    """Any function of three bits"""
    return _bitop3(call, (a, b, c))


@operation("v_bitop2_b32", "b32", "b32 b32")
def bitop2(call: Call, a: Term, b: Term) -> Term:
    """Any function of two bits; the third is 0"""
    return _bitop3(call, (a, b, call.terms.const(0, 32)))


def amount(terms: Terms, value: Term, width: int) -> Term:
    """A shift amount: only the bits that count a width are used."""
    bits = width.bit_length() - 1
    return terms.zext(terms.extract(value, bits - 1, 0), width)


@operation("v_lshlrev_b32", "b32", "u32 b32")
@operation("v_lshlrev_b16", "b16", "u16 b16")
@operation("v_lshlrev_b64", "b64", "u32 b64")
def shift_left(call: Call, count: Term, a: Term) -> Term:
    """a << count"""
    return call.terms.shl(a, amount(call.terms, count, a.width))


@operation("v_lshrrev_b32", "b32", "u32 b32")
@operation("v_lshrrev_b16", "b16", "u16 b16")
@operation("v_lshrrev_b64", "b64", "u32 b64")
def shift_right(call: Call, count: Term, a: Term) -> Term:
    """a >> count, zeros enter"""
    return call.terms.lshr(a, amount(call.terms, count, a.width))


@operation("v_ashrrev_i32", "i32", "u32 i32")
@operation("v_ashrrev_i16", "i16", "u16 i16")
@operation("v_ashrrev_i64", "i64", "u32 i64")
def shift_right_signed(call: Call, count: Term, a: Term) -> Term:
    """a >> count, the sign enters"""
    return call.terms.ashr(a, amount(call.terms, count, a.width))


@operation("v_lshl_add_u32", "u32", "u32 u32 u32")
def shift_add(call: Call, a: Term, count: Term, c: Term) -> Term:
    """(a << count) + c"""
    return call.terms.add(shift_left(call, count, a), c)


@operation("v_lshl_add_u64", "u64", "u64 u32 u64")
def shift_add_64(call: Call, a: Term, count: Term, c: Term) -> Term:
    """(a << count) + c; counts above 4 are not defined and stay open"""
    terms = call.terms
    if count.op == "const" and count.data <= 4:
        return terms.add(terms.shl(a, terms.const(count.data, 64)), c)
    return terms.apply("lshl_add_u64 beyond 4", 64, (a, count, c))


@operation("v_add_lshl_u32", "u32", "u32 u32 u32")
def add_shift(call: Call, a: Term, b: Term, count: Term) -> Term:
    """(a + b) << count"""
    return shift_left(call, count, call.terms.add(a, b))


@operation("v_lshl_or_b32", "b32", "b32 u32 b32")
def shift_or(call: Call, a: Term, count: Term, c: Term) -> Term:
    """(a << count) | c"""
    return call.terms.or_(shift_left(call, count, a), c)


def field(call: Call, a: Term, offset: Term, size: Term, signed: bool) -> Term:
    """``size`` bits of ``a`` from ``offset`` (both modulo 32), extended; 0 for no bits."""
    terms = call.terms
    width = a.width
    if offset.op == "const" and size.op == "const":
        first, count = offset.data, size.data
        if not count:
            return terms.const(0, width)
        if first >= width:
            sign = terms.sext(terms.extract(a, width - 1, width - 1), width)
            return sign if signed else terms.const(0, width)
        part = terms.extract(a, min(first + count, width) - 1, first)
        return terms.sext(part, width) if signed else terms.zext(part, width)
    shifted = terms.ashr(a, offset) if signed else terms.lshr(a, offset)
    room = terms.sub(terms.const(width, width), size)
    part = terms.ashr(terms.shl(shifted, room), room) if signed else terms.lshr(terms.shl(shifted, room), room)
    return terms.ite(terms.eq(size, terms.const(0, width)), terms.const(0, width), part)


@operation("v_bfe_u32", "u32", "u32 u32 u32")
def extract_field(call: Call, a: Term, offset: Term, size: Term) -> Term:
    """a[offset + size - 1 : offset]"""
    terms = call.terms
    return field(call, a, amount(terms, offset, 32), amount(terms, size, 32), signed=False)


@operation("v_bfe_i32", "i32", "i32 u32 u32")
def extract_field_signed(call: Call, a: Term, offset: Term, size: Term) -> Term:
    """a[offset + size - 1 : offset], sign extended"""
    terms = call.terms
    return field(call, a, amount(terms, offset, 32), amount(terms, size, 32), signed=True)


@operation("v_bfm_b32", "b32", "u32 u32")
def field_mask(call: Call, size: Term, offset: Term) -> Term:
    """((1 << size) - 1) << offset"""
    terms = call.terms
    ones = terms.sub(terms.shl(terms.const(1, 32), amount(terms, size, 32)), terms.const(1, 32))
    return terms.shl(ones, amount(terms, offset, 32))


@operation("v_alignbit_b32", "b32", "b32 b32 u32")
def align_bits(call: Call, high: Term, low: Term, count: Term) -> Term:
    """Low half of {high, low} >> count[4:0]"""
    terms = call.terms
    shift = terms.zext(terms.extract(count, 4, 0), 64)
    return terms.extract(terms.lshr(terms.concat(high, low), shift), 31, 0)


@operation("v_alignbyte_b32", "b32", "b32 b32 u32")
def align_bytes(call: Call, high: Term, low: Term, count: Term) -> Term:
    """Low half of {high, low} >> 8 * count[1:0]"""
    terms = call.terms
    shift = terms.zext(terms.concat(terms.extract(count, 1, 0), terms.const(0, 3)), 64)
    return terms.extract(terms.lshr(terms.concat(high, low), shift), 31, 0)


@operation("v_perm_b32", "b32", "b32 b32 b32")
def permute_bytes(call: Call, high: Term, low: Term, selector: Term) -> Term:
    """Each byte of the selector picks a byte of {high, low}, a sign, 0 or 0xff (ISA manuals, V_PERM_B32)."""
    terms = call.terms
    whole = terms.concat(high, low)
    picked = [_picked_byte(terms, whole, terms.extract(selector, 8 * place + 7, 8 * place)) for place in (3, 2, 1, 0)]
    return terms.concat(*picked)


def _picked_byte(terms: Terms, whole: Term, choice: Term) -> Term:
    if choice.op == "const":
        return _byte_case(terms, whole, choice.data)
    result = terms.const(0xFF, 8)
    for value in range(12, -1, -1):
        result = terms.ite(terms.eq(choice, terms.const(value, 8)), _byte_case(terms, whole, value), result)
    return result


def _byte_case(terms: Terms, whole: Term, value: int) -> Term:
    if value < 8:
        return terms.extract(whole, 8 * value + 7, 8 * value)
    if value < 12:
        sign = 16 * (value - 8) + 15
        return terms.sext(terms.extract(whole, sign, sign), 8)
    return terms.const(0 if value == 12 else 0xFF, 8)


@operation("v_bcnt_u32_b32", "u32", "b32 u32")
def count_ones(call: Call, a: Term, b: Term) -> Term:
    """Set bits of a, plus b"""
    return call.terms.add(call.terms.count_ones(a), b)


@operation("v_bfrev_b32", "b32", "b32")
def reverse(call: Call, a: Term) -> Term:
    """Bits in reverse order"""
    return call.terms.reverse(a)


def or_minus_one(call: Call, a: Term, count: Term, nothing: Term) -> Term:
    """``count``, or -1 where ``a`` is ``nothing``."""
    terms = call.terms
    return terms.ite(terms.eq(a, nothing), terms.const(-1, count.width), count)


@operation("v_ffbh_u32 v_clz_i32_u32", "u32", "u32")
def find_first_high(call: Call, a: Term) -> Term:
    """Zeros above the highest one; -1 for 0"""
    return or_minus_one(call, a, call.terms.leading_zeros(a), call.terms.const(0, 32))


@operation("v_ffbl_b32 v_ctz_i32_b32", "u32", "u32")
def find_first_low(call: Call, a: Term) -> Term:
    """Zeros below the lowest one; -1 for 0"""
    return or_minus_one(call, a, call.terms.trailing_zeros(a), call.terms.const(0, 32))


@operation("v_ffbh_i32 v_cls_i32", "i32", "i32")
def find_first_sign_change(call: Call, a: Term) -> Term:
    """Bits above the first that differs from the sign; -1 when none does"""
    return sign_bits(call, a)


def sign_bits(call: Call, a: Term) -> Term:
    """Number of bits at the top that equal the sign; -1 when all do."""
    terms = call.terms
    flipped = terms.xor(a, terms.ashr(a, terms.const(a.width - 1, a.width)))
    return or_minus_one(call, flipped, terms.leading_zeros(flipped), terms.const(0, a.width))
