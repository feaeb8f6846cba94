"""Does a modifier have a value that the encoding can hold? The values are in ``data/modifier_values.json``.

Immediate offsets and DPP controls are not judged here: the rules ``enc.offset_range`` and ``enc.dpp_ctrl`` say more
about them than that they do not fit.
"""

from __future__ import annotations

from functools import cache

import msgspec

from asmevo_gate.isa.data_files import read_data
from asmevo_gate.isa.operand_text import evaluate

_MOST_BITS = 4
"""A list has an element for each source and the result (AMDGPUAsmParser::parseOperandArrayWithPrefix)."""


class _Document(msgspec.Struct, frozen=True):
    schema: str
    sources: list[str]
    ranges: dict[str, tuple[int, int]]
    numbers: dict[str, frozenset[int]]
    names: dict[str, tuple[str, ...]]
    bits: frozenset[str]


@cache
def _document() -> _Document:
    text = read_data("modifier_values.json")
    return msgspec.json.decode(text, type=_Document)


@cache
def bad_value(name: str, value: str) -> str:
    """Why ``value`` cannot be that of the modifier; empty when it can, or when it is not known to be wrong."""
    known = _document()
    if name in known.bits:
        return _bad_bits(name, value)
    if name in known.names:
        names = known.names[name]
        number = evaluate(value)
        fits = value in names or (number is not None and 0 <= number < len(names))
        return "" if fits else f"'{name}' is one of {', '.join(names)}"
    if name not in known.ranges and name not in known.numbers:
        return ""
    number = evaluate(value)
    if number is None:
        return ""
    if name in known.numbers:
        numbers = known.numbers[name]
        return "" if number in numbers else f"'{name}' is one of {', '.join(map(str, sorted(numbers)))}"
    low, high = known.ranges[name]
    return "" if low <= number <= high else f"'{name}' is {low} to {high}"


def _bad_bits(name: str, value: str) -> str:
    inner = value.strip()
    if not (inner.startswith("[") and inner.endswith("]")):
        return f"'{name}' is a list of bits"
    bits = [evaluate(element) for element in inner[1:-1].split(",")]
    if len(bits) > _MOST_BITS:
        return f"'{name}' has at most {_MOST_BITS} bits"
    return "" if all(bit in (0, 1, None) for bit in bits) else f"'{name}' is a list of bits"
