"""Values of float functions on numpy arrays, bit for bit where documents state them.

Rounding is to nearest even; denormals as FP_DENORM of MODE says (RDNA3 ISA 3.5 "MODE": bits 5:4 for f32, 7:6 for
f16 and f64; 0 flushes sources and results, 1 results, 2 sources, 3 nothing). A function that is not listed here has
no known value. Which NaN a function of several NaNs gives is not documented: ``payloads`` chooses between the first
NaN source, quieted, and one NaN for all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Array = Any
"""``numpy.ndarray`` of ``uint64`` holding bits."""


class Format(NamedTuple):
    """A float format: widths, numpy types, place of its denormal control in MODE."""

    width: int
    fraction: int
    unsigned: Any
    floating: Any
    denormal_bit: int

    @property
    def sign(self) -> int:
        """Mask of the sign bit."""
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        """Bits of positive infinity, also the mask of the exponent."""
        return ((1 << (self.width - 1 - self.fraction)) - 1) << self.fraction

    @property
    def quiet(self) -> int:
        """The bit that makes a NaN quiet."""
        return 1 << (self.fraction - 1)

    @property
    def default_nan(self) -> int:
        """The NaN of an invalid operation."""
        return self.infinity | self.quiet


FORMATS = {
    "f16": Format(16, 10, np.uint16, np.float16, 6),
    "f32": Format(32, 23, np.uint32, np.float32, 4),
    "f64": Format(64, 52, np.uint64, np.float64, 6),
}


def _u(value: int) -> Any:
    return np.uint64(value)


def is_nan(bits: Array, form: Format) -> Array:
    """Lanes that hold a NaN."""
    return (bits & _u(form.sign - 1)) > _u(form.infinity)


def _is_denormal(bits: Array, form: Format) -> Array:
    return ((bits & _u(form.infinity)) == 0) & ((bits & _u((1 << form.fraction) - 1)) != 0)


def _flush(bits: Array, form: Format, flushed: Array) -> Array:
    return np.where(_is_denormal(bits, form) & flushed, bits & _u(form.sign), bits)


def flush_sources(bits: Array, form: Format, mode: Array) -> Array:
    """Sources as the function sees them."""
    return _flush(bits, form, (mode >> _u(form.denormal_bit) & _u(1)) == 0)


def flush_result(bits: Array, form: Format, mode: Array) -> Array:
    """A result as it is written."""
    return _flush(bits, form, (mode >> _u(form.denormal_bit + 1) & _u(1)) == 0)


def to_float(bits: Array, form: Format) -> Array:
    """Numbers of bits."""
    return bits.astype(form.unsigned).view(form.floating)


def to_bits(values: Array, form: Format) -> Array:
    """Bits of numbers."""
    return np.ascontiguousarray(values.astype(form.floating)).view(form.unsigned).astype(np.uint64)


def _nan_of(sources: list[Array], form: Format, result: Array, payloads: bool) -> Array:
    """``result`` with the NaN that the sources ask for."""
    result = np.where(is_nan(result, form), _u(form.default_nan), result)
    for source in reversed(sources):
        nan = (source | _u(form.quiet)) if payloads else _u(form.default_nan)
        result = np.where(is_nan(source, form), nan, result)
    return result


def _arithmetic(compute: Callable[..., Array]) -> Callable[..., Array]:
    def run(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
        seen = [flush_sources(source, form, mode) for source in sources]
        result = to_bits(compute(form, *(to_float(source, form) for source in seen)), form)
        return flush_result(_nan_of(seen, form, result, payloads), form, mode)

    return run


def _round_to_odd(high: Array, low: Array) -> Array:
    """``high + low`` in double, the last bit set where ``low`` is not 0: rounds correctly once more afterwards."""
    bits = high.view(np.uint64)
    inexact = (low != 0) & np.isfinite(high)
    toward_zero = inexact & ((low < 0) != (high < 0))
    bits = np.where(toward_zero & (high != 0), bits - _u(1), bits)
    return np.where(inexact, bits | _u(1), bits).view(np.float64)


def _fused(form: Format, a: Array, b: Array, c: Array) -> Array:
    if form.width == 64:
        return _fused_double()(a, b, c).astype(np.float64)
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    return _round_to_odd(np.ascontiguousarray(total), np.where(np.isfinite(total), error, 0.0))


@cache
def _fused_double() -> Any:
    library = ctypes.CDLL("libm.so.6")
    library.fma.restype = ctypes.c_double
    library.fma.argtypes = [ctypes.c_double] * 3
    return np.frompyfunc(library.fma, 3, 1)


def _extreme(larger: bool, quiets: bool) -> Callable[..., Array]:
    """Minimum and maximum: a NaN gives way to a number; with IEEE of MODE (bit 9) a signalling NaN wins, quieted."""

    def run(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
        a, b = (flush_sources(source, form, mode) for source in sources)
        x, y = to_float(a, form), to_float(b, form)
        both_zero = (x == 0) & (y == 0)
        a_wins = (x > y) if larger else (x < y)
        by_sign = (a & _u(form.sign)) == (0 if larger else _u(form.sign))
        result = np.where(np.where(both_zero, by_sign, a_wins), a, b)
        quiet_a = a | _u(form.quiet) if payloads else np.full_like(a, form.default_nan)
        quiet_b = b | _u(form.quiet) if payloads else np.full_like(b, form.default_nan)
        result = np.where(is_nan(a, form), np.where(is_nan(b, form), quiet_a, b), np.where(is_nan(b, form), a, result))
        ieee = (mode >> _u(9) & _u(1)) != 0
        for source, nan in ((b, quiet_b), (a, quiet_a)):
            signalling = is_nan(source, form) & ((source & _u(form.quiet)) == 0)
            if quiets:
                result = np.where(signalling & ieee, nan, result)
        return flush_result(result, form, mode)

    return run


def _three(first: Callable[..., Array]) -> Callable[..., Array]:
    def run(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
        return first(form, payloads, [first(form, payloads, sources[:2], mode), sources[2]], mode)

    return run


def _compare(compute: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def run(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
        a, b = (to_float(flush_sources(source, form, mode), form) for source in sources)
        return compute(a, b).astype(np.uint64)

    return run


def _scale(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
    value = flush_sources(sources[0], form, mode)
    exponent = np.clip(sources[1].astype(np.uint32).view(np.int32), -2400, 2400)
    if form.width == 64:
        scaled = np.ldexp(to_float(value, form), exponent)
    else:
        scaled = np.ldexp(to_float(value, form).astype(np.float64), np.clip(exponent, -600, 600))
    return flush_result(_nan_of([value], form, to_bits(scaled, form), payloads), form, mode)


def _mantissa(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
    value = flush_sources(sources[0], form, mode)
    number = to_float(value, form)
    mantissa = to_bits(np.frexp(np.where(np.isfinite(number), number, 0))[0], form)
    return _nan_of([value], form, np.where(np.isinf(number), value, mantissa), payloads)


def _exponent(form: Format, payloads: bool, sources: list[Array], mode: Array) -> Array:
    number = to_float(flush_sources(sources[0], form, mode), form)
    exponent = np.frexp(np.where(np.isfinite(number), number, 0))[1].astype(np.int64).view(np.uint64)
    return exponent & _u(0xFFFF if form.width == 16 else 0xFFFFFFFF)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "fadd": _arithmetic(lambda form, a, b: a + b),
    "fmul": _arithmetic(lambda form, a, b: a * b),
    "ffma": _arithmetic(_fused),
    "ftrunc": _arithmetic(lambda form, a: np.trunc(a)),
    "fceil": _arithmetic(lambda form, a: np.ceil(a)),
    "ffloor": _arithmetic(lambda form, a: np.floor(a)),
    "frndne": _arithmetic(lambda form, a: np.rint(a)),
    "fmax": _extreme(True, True),
    "fmin": _extreme(False, True),
    "fmax_num": _extreme(True, False),
    "fmin_num": _extreme(False, False),
    "fmax3": _three(_extreme(True, True)),
    "fmin3": _three(_extreme(False, True)),
    "fcmp_eq": _compare(lambda a, b: a == b),
    "fcmp_lt": _compare(lambda a, b: a < b),
    "fcmp_unordered": _compare(lambda a, b: np.isnan(a) | np.isnan(b)),
    "fldexp": _scale,
    "ffrexp_mant": _mantissa,
    "ffrexp_exp": _exponent,
}


def _from_integer(signed: bool, form: Format, bits: int) -> Callable[[Array], Array]:
    def run(value: Array) -> Array:
        number = value.astype(np.int64)
        if signed:
            number = np.where(value >> _u(bits - 1) & _u(1), number - (1 << bits), number)
        return to_bits(number.astype(np.float64), form)

    return run


def _to_integer(signed: bool, form: Format, bits: int) -> Callable[[Array], Array]:
    def run(value: Array) -> Array:
        number = to_float(value, form).astype(np.float64)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        whole = np.clip(np.trunc(np.where(np.isnan(number), 0.0, number)), low, high)
        return whole.astype(np.int64).view(np.uint64) & _u((1 << bits) - 1)

    return run


def _resize(source: Format, target: Format) -> Callable[[Array, Array, bool], Array]:
    def run(value: Array, mode: Array, payloads: bool) -> Array:
        seen = flush_sources(value, source, mode)
        number = to_float(seen, source)
        result = to_bits(np.where(np.isnan(number), 0, number), target)
        shift = target.fraction - source.fraction
        fraction = seen & _u((1 << source.fraction) - 1)
        payload = fraction << _u(shift) if shift > 0 else fraction >> _u(-shift)
        sign = (seen >> _u(source.width - 1)) << _u(target.width - 1)
        nan = sign | _u(target.default_nan) | payload if payloads else _u(target.default_nan)
        return flush_result(np.where(np.isnan(number), nan, result), target, mode)

    return run


def _class_of(value: Array, classes: Array, form: Format) -> Array:
    """V_CMP_CLASS: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    negative = (value & _u(form.sign)) != 0
    nan, quiet = is_nan(value, form), (value & _u(form.quiet)) != 0
    infinite = (value & _u(form.sign - 1)) == _u(form.infinity)
    zero, denormal = (value & _u(form.sign - 1)) == 0, _is_denormal(value, form)
    number = np.where(
        zero, np.where(negative, 5, 6), np.where(denormal, np.where(negative, 4, 7), np.where(negative, 3, 8))
    )
    number = np.where(infinite, np.where(negative, 2, 9), number)
    number = np.where(nan, np.where(quiet, 1, 0), number)
    return classes >> number.astype(np.uint64) & _u(1)


def known(name: str) -> bool:
    """True when :func:`value_of` knows the function."""
    function, _, kind = name.partition(".")
    return (function in _FUNCTIONS and kind in FORMATS) or function in _CONVERSIONS


_CONVERSIONS = frozenset(
    [
        *("float_from_signed", "float_from_unsigned", "signed_from_float", "unsigned_from_float"),
        *("float_narrow", "float_widen", "fclass"),
    ]
)


def value_of(name: str, args: list[Array], payloads: bool) -> Array:
    """The value of a function that :func:`known` knows, MODE being its last argument."""
    function, _, kind = name.partition(".")
    with np.errstate(all="ignore"):
        if function in _FUNCTIONS:
            return _FUNCTIONS[function](FORMATS[kind], payloads, args[:-1], args[-1])
        if function == "fclass":
            return _class_of(args[0], args[1], FORMATS[kind])
        if function in ("float_narrow", "float_widen"):
            source, _, target = kind.partition(".")
            return _resize(FORMATS[source], FORMATS[target])(args[0], args[1], payloads)
        form = FORMATS[kind]
        bits = 16 if form.width == 16 else 32
        if function.startswith("float_from"):
            return _from_integer(function.endswith("_signed"), form, bits)(args[0])
        return _to_integer(function.startswith("signed"), form, bits)(flush_sources(args[0], form, args[1]))
