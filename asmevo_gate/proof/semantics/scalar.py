"""Scalar arithmetic, logic, comparisons and selections, with SCC."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.semantics import bits, integer
from asmevo_gate.proof.semantics.compares import float_relations, integer_relations, less, less_signed, swapped
from asmevo_gate.proof.semantics.floats import flip_sign, of
from asmevo_gate.proof.semantics.integer import borrow_subtract, carry_add, high_product
from asmevo_gate.proof.terms import Term

Pair = tuple[Term, Term]


def not_zero(call: Call, value: Term) -> Term:
    """SCC of logic operations."""
    terms = call.terms
    return terms.not_(terms.eq(value, terms.const(0, value.width)))


def _with_not_zero(meaning: Callable[..., Term]) -> Meaning:
    def both(call: Call, *sources: Term) -> Pair:
        value = meaning(call, *sources)
        return value, not_zero(call, value)

    return both


@operation("s_add_u32 s_add_co_u32", "u32 scc", "u32 u32")
def add(call: Call, a: Term, b: Term) -> Pair:
    """a + b, carry"""
    return carry_add(call, a, b, None)


@operation("s_addc_u32 s_add_co_ci_u32", "u32 scc", "u32 u32 scc")
def add_with_carry(call: Call, a: Term, b: Term, carry: Term) -> Pair:
    """a + b + SCC, carry"""
    return carry_add(call, a, b, carry)


@operation("s_sub_u32 s_sub_co_u32", "u32 scc", "u32 u32")
def subtract(call: Call, a: Term, b: Term) -> Pair:
    """a - b, borrow"""
    return borrow_subtract(call, a, b, None)


@operation("s_subb_u32 s_sub_co_ci_u32", "u32 scc", "u32 u32 scc")
def subtract_with_borrow(call: Call, a: Term, b: Term, borrow: Term) -> Pair:
    """a - b - SCC, borrow"""
    return borrow_subtract(call, a, b, borrow)


def _sign(call: Call, value: Term) -> Term:
    return call.terms.extract(value, value.width - 1, value.width - 1)


@operation("s_add_i32 s_add_co_i32", "i32 scc", "i32 i32")
def add_signed(call: Call, a: Term, b: Term) -> Pair:
    """a + b, signed overflow"""
    terms = call.terms
    total = terms.add(a, b)
    overflow = terms.and_(terms.xor(a, total), terms.xor(b, total))
    return total, _sign(call, overflow)


@operation("s_addk_i32 s_addk_co_i32", "i32 scc", "i32", accumulates=True)
def add_constant(call: Call, constant: Term, old: Term) -> Pair:
    """The old value plus a 16-bit number, signed overflow"""
    return add_signed(call, old, move_constant(call, constant))


@operation("s_sub_i32 s_sub_co_i32", "i32 scc", "i32 i32")
def subtract_signed(call: Call, a: Term, b: Term) -> Pair:
    """a - b, signed overflow"""
    terms = call.terms
    difference = terms.sub(a, b)
    overflow = terms.and_(terms.xor(a, b), terms.xor(a, difference))
    return difference, _sign(call, overflow)


@operation("s_add_nc_u64 s_add_u64", "u64", "u64 u64")
def add_64(call: Call, a: Term, b: Term) -> Term:
    """a + b"""
    return call.terms.add(a, b)


@operation("s_sub_nc_u64 s_sub_u64", "u64", "u64 u64")
def subtract_64(call: Call, a: Term, b: Term) -> Term:
    """a - b"""
    return call.terms.sub(a, b)


@operation("s_mul_i32", "i32", "i32 i32")
@operation("s_mul_u64", "u64", "u64 u64")
def multiply(call: Call, a: Term, b: Term) -> Term:
    """Low half of a * b"""
    return call.terms.mul(a, b)


@operation("s_mulk_i32", "i32", "i32", accumulates=True)
def multiply_constant(call: Call, constant: Term, old: Term) -> Term:
    """The old value times a 16-bit number"""
    return call.terms.mul(old, move_constant(call, constant))


@operation("s_mul_hi_u32", "u32", "u32 u32")
def multiply_high(call: Call, a: Term, b: Term) -> Term:
    """High half of a * b, unsigned"""
    return high_product(call, a, b, signed=False)


@operation("s_mul_hi_i32", "i32", "i32 i32")
def multiply_high_signed(call: Call, a: Term, b: Term) -> Term:
    """High half of a * b, signed"""
    return high_product(call, a, b, signed=True)


def _minmax(
    extreme: Callable[[Call, Term, Term], Term],
    relation: Callable[[Call, Term, Term], Term],
    open_when_equal: bool,
) -> Meaning:
    """SCC tells whether the first source was taken. Whether S_MAX takes it when both are equal is told differently by
    the manuals of different generations: SCC stays open there."""

    def meaning(call: Call, a: Term, b: Term) -> Pair:
        terms = call.terms
        taken = relation(call, a, b)
        if open_when_equal:
            taken = terms.ite(terms.eq(a, b), terms.apply("scc of equal sources", 1, (a, b)), taken)
        return extreme(call, a, b), taken

    return meaning


@operation("s_abs_i32", "i32 scc", "i32")
def absolute(call: Call, a: Term) -> Pair:
    """|a|, SCC where it is not 0"""
    terms = call.terms
    value = terms.ite(_sign(call, a), terms.sub(terms.const(0, 32), a), a)
    return value, not_zero(call, value)


@operation("s_absdiff_i32", "i32 scc", "i32 i32")
def absolute_difference(call: Call, a: Term, b: Term) -> Pair:
    """|a - b|"""
    return absolute(call, call.terms.sub(a, b))


@operation("s_mov_b32", "b32", "b32")
@operation("s_mov_b64", "b64", "b64")
def move(call: Call, a: Term) -> Term:
    """a"""
    del call
    return a


@operation("s_movk_i32", "i32", "i32")
def move_constant(call: Call, a: Term) -> Term:
    """A 16-bit number, sign extended"""
    terms = call.terms
    return terms.sext(terms.extract(a, 15, 0), 32)


@operation("s_cmov_b32", "b32", "b32 scc", accumulates=True)
@operation("s_cmov_b64", "b64", "b64 scc", accumulates=True)
def conditional_move(call: Call, a: Term, condition: Term, old: Term) -> Term:
    """a where SCC is set"""
    return call.terms.ite(condition, a, old)


@operation("s_cmovk_i32", "i32", "i32 scc", accumulates=True)
def conditional_move_constant(call: Call, a: Term, condition: Term, old: Term) -> Term:
    """A 16-bit number where SCC is set"""
    return call.terms.ite(condition, move_constant(call, a), old)


@operation("s_cselect_b32", "b32", "b32 b32 scc")
@operation("s_cselect_b64", "b64", "b64 b64 scc")
def select(call: Call, a: Term, b: Term, condition: Term) -> Term:
    """a where SCC is set, else b"""
    return call.terms.ite(condition, a, b)


LOGIC: dict[str, Callable[[Call, Term, Term], Term]] = {
    "and": lambda call, a, b: call.terms.and_(a, b),
    "or": lambda call, a, b: call.terms.or_(a, b),
    "xor": lambda call, a, b: call.terms.xor(a, b),
    "andn2": lambda call, a, b: call.terms.and_(a, call.terms.not_(b)),
    "and_not1": lambda call, a, b: call.terms.and_(a, call.terms.not_(b)),
    "orn2": lambda call, a, b: call.terms.or_(a, call.terms.not_(b)),
    "or_not1": lambda call, a, b: call.terms.or_(a, call.terms.not_(b)),
    "nand": lambda call, a, b: call.terms.not_(call.terms.and_(a, b)),
    "nor": lambda call, a, b: call.terms.not_(call.terms.or_(a, b)),
    "xnor": lambda call, a, b: call.terms.not_(call.terms.xor(a, b)),
}
"""Name in the mnemonic -> bitwise function of two sources."""


@operation("s_not_b32", "b32 scc", "b32")
@operation("s_not_b64", "b64 scc", "b64")
def not_(call: Call, a: Term) -> Pair:
    """~a"""
    value = call.terms.not_(a)
    return value, not_zero(call, value)


def _shift(meaning: Callable[..., Term]) -> Callable[..., Term]:
    return lambda call, a, count: meaning(call, count, a)


def _shift_add(count: int) -> Meaning:
    def meaning(call: Call, a: Term, b: Term) -> Pair:
        """(a << count) + b, SCC on overflow of 32 bits"""
        terms = call.terms
        wide = terms.add(terms.shl(terms.zext(a, 40), terms.const(count, 40)), terms.zext(b, 40))
        overflow = not_zero(call, terms.extract(wide, 39, 32))
        return terms.extract(wide, 31, 0), overflow

    return meaning


@operation("s_bfm_b32", "b32", "u32 u32")
def field_mask(call: Call, size: Term, offset: Term) -> Term:
    """((1 << size) - 1) << offset"""
    return bits.field_mask(call, size, offset)


def _field(signed: bool, width: int) -> Meaning:
    def meaning(call: Call, a: Term, where: Term) -> Pair:
        terms = call.terms
        if where.op != "const":
            value = terms.apply(f"scalar field {signed}", width, (a, where))
            return value, not_zero(call, value)
        offset, size = where.data & (width - 1), where.data >> 16 & 0x7F
        number = terms.const(min(size, width - offset), width)
        value = bits.field(call, a, terms.const(offset, width), number, signed)
        return value, not_zero(call, value)

    return meaning


@operation("s_brev_b32", "b32", "b32")
@operation("s_brev_b64", "b64", "b64")
def reverse(call: Call, a: Term) -> Term:
    """Bits in reverse order"""
    return call.terms.reverse(a)


@operation("s_bcnt1_i32_b32", "i32 scc", "b32")
@operation("s_bcnt1_i32_b64", "i32 scc", "b64")
def count_ones(call: Call, a: Term) -> Pair:
    """Number of set bits"""
    value = call.terms.extract(call.terms.count_ones(a), 31, 0)
    return value, not_zero(call, value)


@operation("s_ff1_i32_b32 s_ctz_i32_b32", "i32", "b32")
@operation("s_ff1_i32_b64 s_ctz_i32_b64", "i32", "b64")
def find_first_low(call: Call, a: Term) -> Term:
    """Zeros below the lowest one; -1 for 0"""
    terms = call.terms
    count = terms.extract(terms.trailing_zeros(a), 31, 0)
    return bits.or_minus_one(call, a, count, terms.const(0, a.width))


@operation("s_flbit_i32_b32 s_clz_i32_u32", "i32", "b32")
@operation("s_flbit_i32_b64 s_clz_i32_u64", "i32", "b64")
def find_first_high(call: Call, a: Term) -> Term:
    """Zeros above the highest one; -1 for 0"""
    terms = call.terms
    count = terms.extract(terms.leading_zeros(a), 31, 0)
    return bits.or_minus_one(call, a, count, terms.const(0, a.width))


@operation("s_flbit_i32 s_cls_i32", "i32", "i32")
def find_first_sign_change(call: Call, a: Term) -> Term:
    """Bits above the first that differs from the sign; -1 when none does"""
    return bits.sign_bits(call, a)


@operation("s_sext_i32_i8", "i32", "i32")
def extend_byte(call: Call, a: Term) -> Term:
    """Low byte, sign extended"""
    return call.terms.sext(call.terms.extract(a, 7, 0), 32)


@operation("s_sext_i32_i16", "i32", "i32")
def extend_half(call: Call, a: Term) -> Term:
    """Low half, sign extended"""
    return call.terms.sext(call.terms.extract(a, 15, 0), 32)


@operation("s_bitset0_b32", "b32", "u32", accumulates=True)
def clear_bit(call: Call, index: Term, old: Term) -> Term:
    """One bit cleared"""
    terms = call.terms
    bit = terms.shl(terms.const(1, 32), bits.amount(terms, index, 32))
    return terms.and_(old, terms.not_(bit))


@operation("s_bitset1_b32", "b32", "u32", accumulates=True)
def set_bit(call: Call, index: Term, old: Term) -> Term:
    """One bit set"""
    terms = call.terms
    return terms.or_(old, terms.shl(terms.const(1, 32), bits.amount(terms, index, 32)))


def _test_bit(wanted: int) -> Meaning:
    def meaning(call: Call, a: Term, index: Term) -> Term:
        terms = call.terms
        bit = terms.extract(terms.lshr(a, bits.amount(terms, index, a.width)), 0, 0)
        return bit if wanted else terms.not_(bit)

    return meaning


@operation("s_pack_ll_b32_b16", "b32", "b32 b32")
def pack_low_low(call: Call, a: Term, b: Term) -> Term:
    """{b.low, a.low}"""
    return call.terms.concat(call.terms.extract(b, 15, 0), call.terms.extract(a, 15, 0))


@operation("s_pack_lh_b32_b16", "b32", "b32 b32")
def pack_low_high(call: Call, a: Term, b: Term) -> Term:
    """{b.high, a.low}"""
    return call.terms.concat(call.terms.extract(b, 31, 16), call.terms.extract(a, 15, 0))


@operation("s_pack_hh_b32_b16", "b32", "b32 b32")
def pack_high_high(call: Call, a: Term, b: Term) -> Term:
    """{b.high, a.high}"""
    return call.terms.concat(call.terms.extract(b, 31, 16), call.terms.extract(a, 31, 16))


@operation("s_pack_hl_b32_b16", "b32", "b32 b32")
def pack_high_low(call: Call, a: Term, b: Term) -> Term:
    """{b.low, a.high}"""
    return call.terms.concat(call.terms.extract(b, 15, 0), call.terms.extract(a, 31, 16))


def _register() -> None:
    extremes = {"u": (integer.minimum, integer.maximum), "i": (integer.minimum_signed, integer.maximum_signed)}
    for letter, relation in (("u", less), ("i", less_signed)):
        kind = f"{letter}32"
        smallest, largest = extremes[letter]
        operation(f"s_min_{kind}", f"{kind} scc", f"{kind} {kind}")(_minmax(smallest, relation, False))
        operation(f"s_max_{kind}", f"{kind} scc", f"{kind} {kind}")(_minmax(largest, swapped(relation), True))
        for name, compare in integer_relations(relation).items():
            scalar_name = "lg" if name == "ne" else name
            operation(f"s_cmp_{scalar_name}_{kind}", "scc", f"{kind} {kind}")(compare)
            operation(f"s_cmpk_{scalar_name}_{kind}", "scc", f"{kind} {kind}")(_with_constant(compare, letter == "i"))
    for name, compare in integer_relations(less).items():
        if name in ("eq", "ne"):
            operation(f"s_cmp_{'lg' if name == 'ne' else name}_u64", "scc", "u64 u64")(compare)
    for width in (32, 64):
        kind = f"b{width}"
        for name, logic in LOGIC.items():
            operation(f"s_{name}_{kind}", f"{kind} scc", f"{kind} {kind}")(_with_not_zero(logic))
        for name, shift in (
            ("lshl_b", bits.shift_left),
            ("lshr_b", bits.shift_right),
            ("ashr_i", bits.shift_right_signed),
        ):
            meaning = _with_not_zero(_shift(shift))
            operation(f"s_{name}{width}", f"{kind} scc", f"{kind} u32")(meaning)
        operation(f"s_bfe_u{width}", f"u{width} scc", f"u{width} u32")(_field(False, width))
        operation(f"s_bfe_i{width}", f"i{width} scc", f"i{width} u32")(_field(True, width))
        operation(f"s_bitcmp0_{kind}", "scc", f"{kind} u32")(_test_bit(0))
        operation(f"s_bitcmp1_{kind}", "scc", f"{kind} u32")(_test_bit(1))
    for count in (1, 2, 3, 4):
        operation(f"s_lshl{count}_add_u32", "u32 scc", "u32 u32")(_shift_add(count))


def _with_constant(compare: Callable[[Call, Term, Term], Term], signed: bool) -> Meaning:
    def meaning(call: Call, a: Term, constant: Term) -> Term:
        terms = call.terms
        half = terms.extract(constant, 15, 0)
        return compare(call, a, terms.sext(half, 32) if signed else terms.zext(half, 32))

    return meaning


def _register_floats() -> None:
    kind = "f32"
    pair = "f32 f32"
    operation("s_add_f32", kind, pair)(of("fadd", kind))
    operation("s_mul_f32", kind, pair)(of("fmul", kind))
    operation("s_sub_f32", kind, pair)(lambda call, a, b: of("fadd", kind)(call, a, flip_sign(call, b)))
    operation("s_max_f32", kind, pair)(of("fmax", kind))
    operation("s_min_f32", kind, pair)(of("fmin", kind))
    operation("s_max_num_f32", kind, pair)(of("fmax_num", kind))
    operation("s_min_num_f32", kind, pair)(of("fmin_num", kind))
    operation("s_fmac_f32", kind, pair, accumulates=True)(of("ffma", kind))
    operation("s_fmamk_f32 s_fmaak_f32", kind, "f32 f32 f32")(of("ffma", kind))
    for name, relation in float_relations(kind).items():
        if name not in ("f", "t", "tru"):
            operation(f"s_cmp_{name}_f32", "scc", pair)(relation)
    for name in ("trunc", "ceil", "rndne", "floor"):
        operation(f"s_{name}_f32", kind, kind)(of(f"f{name}", kind))
    for base, result, source, name in (
        ("s_cvt_f32_u32", "f32", "u32", "float_from_unsigned.f32"),
        ("s_cvt_f32_i32", "f32", "i32", "float_from_signed.f32"),
        ("s_cvt_u32_f32", "u32", "f32", "unsigned_from_float.f32"),
        ("s_cvt_i32_f32", "i32", "f32", "signed_from_float.f32"),
    ):
        operation(base, result, source)(of(name.partition(".")[0], kind))


_register()
_register_floats()
