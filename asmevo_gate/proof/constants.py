"""Which bits a number written as an operand stands for.

Inline constants and literals as in the ISA manuals ("Scalar and vector operand encodings"): integers are extended
to the width of the operand, floating-point inline constants take the operand's format, a 32-bit literal is the high
half of a 64-bit float. Where a literal could be read in two ways, :func:`bits_of` gives ``None``.
"""

from __future__ import annotations

import struct

_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_INLINE_FLOATS = frozenset((0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0))
_INVERSE_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
"""1 / (2 pi), the inline constant 248."""


def bits_of(value: int | float, kind: str, width: int) -> int | None:
    """The operand's bits; ``kind`` is ``f``, ``i``, ``u``, ``b`` or a packed ``pk_`` kind."""
    if isinstance(value, float):
        return _float_bits(value, kind, width)
    if -16 <= value <= 64:
        return value & ((1 << width) - 1) if not kind.startswith("pk") else None
    if kind.startswith("pk"):
        return None
    if width == 64:
        if value >> 32 not in (0, -1):
            return value & ((1 << 64) - 1)
        if kind == "f":
            return (value & 0xFFFFFFFF) << 32
        return value if 0 <= value < 1 << 31 else None
    if width == 16 and not -(1 << 15) <= value < 1 << 16:
        return None
    return value & ((1 << width) - 1)


def _float_bits(value: float, kind: str, width: int) -> int | None:
    if kind == "f" or (width == 32 and kind in "iub"):
        if abs(value - 0.15915494309189532) < 1e-8:
            return _INVERSE_TWO_PI[width]
        pack, unpack = _FORMATS[width]
        try:
            bits = int(struct.unpack(unpack, struct.pack(pack, value))[0])
        except OverflowError:
            return None
        if width == 64 and bits & 0xFFFFFFFF and value not in _INLINE_FLOATS:
            return None
        if width == 16 and struct.unpack("<e", struct.pack("<H", bits))[0] != value:
            return None
        return bits
    if value in _INLINE_FLOATS and kind == "b" and width == 64:
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return None
