"""A range of clock cycles where no single number can be said."""

from __future__ import annotations

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """From ``low`` (memory answers from the nearest cache) to ``high`` (from DRAM, under load)."""

    low: float
    high: float


Cycles = float | Interval
"""Clock cycles: a number, or an interval where memory decides."""


def cycles(low: float, high: float) -> Cycles:
    """The number when both ends are equal, else the interval."""
    return low if high == low else Interval(low, high)


def low_of(value: Cycles) -> float:
    """The lower end."""
    return value.low if isinstance(value, Interval) else value


def high_of(value: Cycles) -> float:
    """The upper end."""
    return value.high if isinstance(value, Interval) else value


def scaled(value: Cycles, factor: float) -> Cycles:
    """The number, or both ends, times a factor."""
    if isinstance(value, Interval):
        return cycles(value.low * factor, value.high * factor)
    return value * factor


def in_words(value: Cycles) -> str:
    """``64`` or ``120..1020``, at most one decimal."""
    if isinstance(value, Interval):
        return f"{_short(value.low)}..{_short(value.high)}"
    return _short(value)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
