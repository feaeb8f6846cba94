"""Does an operand fit the place where it stands? The kinds of each place are in the instruction table."""

from __future__ import annotations

from functools import cache, lru_cache

from asmevo_gate.isa.operand_text import Slot, slot
from asmevo_gate.isa.registers import AGPR, SGPR, SPECIAL, SPECIAL_START, VGPR

_LANE_MASK = frozenset((1, 2))
"""The only scalar operands of two widths are lane masks: as wide as the wave."""


_LAST_LOW = 127
_MOST_REMEMBERED = 100_000
_BANKS = frozenset("vas")
_VCC = ((SPECIAL["vcc_lo"], 2),)
_VCC_LO = ((SPECIAL["vcc_lo"], 1),)
_MASK_HALVES = frozenset(SPECIAL[name] for name in ("vcc_lo", "vcc_hi", "exec_lo", "exec_hi"))


def _or(widths: frozenset[int]) -> str:
    return " or ".join(str(width) for width in sorted(widths))


@cache
def _kinds(text: str, wave_size: int) -> tuple[frozenset[str], frozenset[int]]:
    letters, _, widths = text.rpartition(" ") if " " in text else (text, "", "")
    found: set[int] = set()
    for entry in filter(None, widths.split(",")):
        width, _, wave = entry.partition("/")
        if not wave or int(wave) == wave_size:
            found.add(int(width))
    return frozenset(letters), frozenset(found)


@lru_cache(_MOST_REMEMBERED)
def misfit(text: str, kinds: str, wave_size: int, low_only: bool) -> str:
    """Why an operand text does not fit; empty when it does, or when the table does not know enough to say so.

    ``low_only``: an ``l`` of the kinds counts. It does not when the assembler may choose a longer encoding.
    """
    return _misfit(text, slot(text), kinds, wave_size, low_only)


def _misfit(text: str, one: Slot, kinds: str, wave_size: int, low_only: bool) -> str:
    letters, widths = _kinds(kinds, wave_size)
    if widths == _LANE_MASK and "v" not in letters and len(one.parts) == 1 and one.parts[0][0] >= SGPR.start:
        if one.parts[0][1] != wave_size // 32:
            return f"a lane mask has {wave_size // 32} dwords in wave{wave_size}"
        return ""
    if not letters:
        if widths and widths <= _LANE_MASK and one.parts in (_VCC, _VCC_LO):
            wanted = _VCC if wave_size == 64 else _VCC_LO
            return (
                ""
                if one.parts == wanted
                else f"the lane mask is vcc{'' if wave_size == 64 else '_lo'} in wave{wave_size}"
            )
        return ""
    if not one.parts:
        if isinstance(one.value, int | float) and not letters & {"#", "="}:
            return "a number cannot stand here"
        return ""
    if "[" in letters and text[0] != "[":
        return "an address of several registers is a list here"
    start, length = one.parts[0]
    if start in _MASK_HALVES and widths and length not in widths:
        return f"{length} registers where the instruction takes {_or(widths)}"
    if start >= SPECIAL_START:
        return ""
    bank = "v" if start < VGPR.count else "a" if start < AGPR.start + AGPR.count else "s"
    if not letters & _BANKS:
        return ""
    if bank not in letters and one.half is None:
        return f"a{'n AGPR' if bank == 'a' else ' VGPR' if bank == 'v' else 'n SGPR'} cannot stand here"
    if low_only and "l" in letters and bank == "v" and start > _LAST_LOW:
        return "only v0 to v127 can be named here"
    if len(one.parts) == 1 and text[0] != "[" and widths and length not in widths:
        return f"{length} registers where the instruction takes {_or(widths)}"
    if one.half is not None and "." not in letters:
        return "a 16-bit half cannot be selected here"
    return _source_modifier(text, letters)


def _source_modifier(text: str, letters: frozenset[str]) -> str:
    if text[0] in "vsat[":
        return "" if not text.startswith("sext") or "~" in letters else "sext() is not possible here"
    if (text[0] == "-" or text.startswith("neg")) and "-" not in letters:
        return "a negated source is not possible here"
    if ("|" in text or "abs" in text) and "|" not in letters:
        return "an absolute source is not possible here"
    if text.startswith("sext") and "~" not in letters:
        return "sext() is not possible here"
    return ""
