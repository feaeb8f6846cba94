"""Widths of the A and B matrices of instructions that choose their number format by a modifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_EIGHTHS = {"0": 8, "1": 8, "2": 6, "3": 6, "4": 4}
"""Bits of an element by format number: FP8, BF8, FP6, BF6, FP4 (CDNA4 ISA guide, "MFMA with F8F6F4 formats")."""
_NAMES = {
    "MATRIX_FMT_FP8": "0", "MATRIX_FMT_BF8": "1", "MATRIX_FMT_FP6": "2", "MATRIX_FMT_BF6": "3", "MATRIX_FMT_FP4": "4",
}  # fmt: skip
_FORMATS = {1: ("cbsz", "matrix_a_fmt"), 2: ("blgp", "matrix_b_fmt")}
"""Operand position -> the modifiers that give its format (gfx950, gfx1250)."""


def has_matrix_formats(base: str) -> bool:
    """Whether a base mnemonic takes 8, 6 and 4-bit elements."""
    return base.endswith("f8f6f4")


def with_format_widths(kinds: Sequence[str], modifiers: Mapping[str, str]) -> tuple[str, ...]:
    """The operand kinds of such an instruction (``av 8``: letters, then the number of registers with 8-bit elements)
    with the registers that A and B have in the chosen formats; LLVM demands exactly these (AMDGPUAsmParser,
    "wrong register tuple size for cbsz value"). An unknown format is left alone."""
    found = list(kinds)
    for position, names in _FORMATS.items():
        written = next((modifiers[name] for name in names if name in modifiers), "0")
        eighths = _EIGHTHS.get(_NAMES.get(written, written))
        letters, _, widths = kinds[position].rpartition(" ")
        if eighths is not None and widths.isdigit():
            found[position] = f"{letters} {int(widths) * eighths // 8}"
    return tuple(found)
