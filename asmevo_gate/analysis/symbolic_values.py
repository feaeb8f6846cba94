"""Values as a register may hold them on every run of a kernel: ``scale * origin + add``; and arithmetic on them.

An instruction's rule gives its result from its sources, or ``None`` where the result has no such form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

PACKED_IDS = "packed work-item ids"
LOADED = "loaded from "
"""Prefix of the origin of a dword that a scalar load brought from a known address; ``add`` is its byte offset there."""
_WORD = (1 << 32) - 1


class Value(NamedTuple):
    """``scale * origin + add`` modulo 2**32.

    ``origin`` is ``""`` for a constant, ``x``, ``y`` or ``z`` for a work-item id, :data:`PACKED_IDS`, :data:`LOADED`
    with a name, or the name of an initial SGPR value
    (:class:`~asmevo_gate.analysis.initial_state.InitialRegisters`), of which ``part`` is the dword.
    """

    origin: str
    scale: int = 1
    add: int = 0
    part: int = 0

    @property
    def constant(self) -> int | None:
        """The number, when it is one."""
        return self.add if not self.origin else None


@lru_cache(4096)
def constant(number: int) -> Value:
    """A constant as a value."""
    return Value("", 0, number & _WORD)


def _mov(value: Value) -> Value:
    return value


def _add(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    return other._replace(add=(other.add + one.constant) & _WORD)


def _sub(one: Value, other: Value) -> Value | None:
    return None if other.constant is None else _add(one, constant(-other.constant))


def _mul(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None or (other.origin and other.origin not in "xyz"):
        return None
    factor = one.constant
    return Value(other.origin, other.scale * factor & _WORD, other.add * factor & _WORD)


def _shl(value: Value, amount: Value) -> Value | None:
    if amount.constant is None:
        return None
    return _mul(value, constant(1 << (amount.constant & 31)))


def _shr(value: Value, amount: Value) -> Value | None:
    if value.constant is not None and amount.constant is not None:
        return constant(value.constant >> (amount.constant & 31))
    if value == Value(PACKED_IDS) and amount.constant == 20:
        return Value("z")
    return None


def _and(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    if other.constant is not None:
        return constant(one.constant & other.constant)
    if one.constant == 0x3FF and other.scale == 1 and not other.add:
        return Value("x") if other.origin == PACKED_IDS else other if other.origin in ("x", "y", "z") else None
    return None


def _or(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    if other.constant is not None:
        return constant(one.constant | other.constant)
    step = other.scale & -other.scale
    return _add(one, other) if other.origin in ("x", "y", "z") and not other.add and one.constant < step else None


def _bfe(value: Value, first: Value, width: Value) -> Value | None:
    if first.constant is None or width.constant is None:
        return None
    if value.constant is not None:
        return constant(value.constant >> (first.constant & 31) & ((1 << (width.constant & 31)) - 1))
    axis = {(0, 10): "x", (10, 10): "y", (20, 10): "z"}.get((first.constant, width.constant))
    return Value(axis) if value == Value(PACKED_IDS) and axis else None


def _then(first: Callable[..., Value | None], second: Callable[..., Value | None]) -> Callable[..., Value | None]:
    def both(one: Value, other: Value, third: Value) -> Value | None:
        made = first(one, other)
        return None if made is None else second(made, third)

    return both


def _reversed(rule: Callable[..., Value | None]) -> Callable[..., Value | None]:
    return lambda amount, value: rule(value, amount)


def _carry(high: Value, zero: Value) -> Value | None:
    """The upper half of a pointer to which a constant is added: still the upper half of an address in the segment."""
    if high.constant is None and zero.constant in (0, _WORD):
        return high
    return None


ARITHMETIC: dict[str, Callable[..., Value | None]] = {
    **dict.fromkeys(("s_mov_b32", "s_movk_i32", "v_mov_b32", "s_mov_b64", "v_mov_b64", "v_readfirstlane_b32"), _mov),
    **dict.fromkeys(("s_add_u32", "s_add_i32", "s_addk_i32", "v_add_u32", "v_add_nc_u32", "v_add_co_u32"), _add),
    **dict.fromkeys(("s_add_co_u32", "s_add_co_i32"), _add),
    **dict.fromkeys(("s_sub_u32", "s_sub_i32", "v_sub_u32", "v_sub_nc_u32"), _sub),
    **dict.fromkeys(("s_addc_u32", "s_add_co_ci_u32"), _carry),
    **dict.fromkeys(("s_mul_i32", "v_mul_u32_u24", "v_mul_lo_u32"), _mul),
    **dict.fromkeys(("s_and_b32", "v_and_b32"), _and),
    **dict.fromkeys(("s_or_b32", "v_or_b32"), _or),
    "s_lshl_b32": _shl,
    "v_lshlrev_b32": _reversed(_shl),
    "s_lshr_b32": _shr,
    "v_lshrrev_b32": _reversed(_shr),
    "v_bfe_u32": _bfe,
    "v_lshl_add_u32": _then(_shl, _add),
    "v_add_lshl_u32": _then(_add, _shl),
    "v_lshl_or_b32": _then(_shl, _or),
    "v_and_or_b32": _then(_and, _or),
    "v_mad_u32_u24": _then(_mul, _add),
    "v_add3_u32": _then(_add, _add),
}
PAIRS = frozenset(("s_mov_b64", "v_mov_b64"))
