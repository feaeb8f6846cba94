"""Does an operand fit the place where it stands? The kinds of each place are in the instruction table."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from asmevo_gate.isa.operand_text import Slot
from asmevo_gate.isa.registers import AGPR, SGPR, SPECIAL, SPECIAL_START, VGPR

_LANE_MASK = frozenset((1, 2))
"""The only scalar operands of two widths are lane masks: as wide as the wave."""


_LAST_LOW = 127
_BANKS = frozenset("vas")
_VCC_ONLY = frozenset("c")
_VCC = ((SPECIAL["vcc_lo"], 2),)
_VCC_LO = ((SPECIAL["vcc_lo"], 1),)
_MASK_HALVES = frozenset(SPECIAL[name] for name in ("vcc_lo", "vcc_hi", "exec_lo", "exec_hi"))


def _or(widths: frozenset[int]) -> str:
    return " or ".join(str(width) for width in sorted(widths))


class _Place(NamedTuple):
    """What may stand in one place, from its text in the table."""

    letters: frozenset[str]
    widths: frozenset[int]
    shapes: frozenset[tuple[int, ...]]
    roles: str


@cache
def _place(text: str, wave_size: int) -> _Place:
    letters, widths, shapes, roles = [*text.split(" "), "", "", ""][:4]
    found: set[int] = set()
    for entry in filter(None, widths.split(",")):
        width, _, wave = entry.partition("/")
        if not wave or int(wave) == wave_size:
            found.add(int(width))
    listed = frozenset(tuple(map(int, shape.split("-"))) for shape in shapes.split(",") if shape)
    return _Place(frozenset(letters), frozenset(found), listed, roles)


def _is_scalar(one: Slot) -> bool:
    return len(one.parts) == 1 and SGPR.start <= one.parts[0][0] < SGPR.start + SGPR.count


def element_roles(kinds: str) -> str:
    """A role letter for each element of the list that stands in a place of role ``E``."""
    return _place(kinds, 0).roles


def widths_of(kinds: str, wave_size: int) -> frozenset[int]:
    """The register widths in dwords that a place takes; empty when the table has none."""
    return _place(kinds, wave_size).widths


def misfit(text: str, one: Slot, kinds: str, wave_size: int) -> str:
    """Why an operand text does not fit; empty when it does, or when the table does not know enough to say so."""
    letters, widths, shapes, _ = _place(kinds, wave_size)
    if shapes and len(one.elements) > 1 and tuple(length for _, length in one.elements) not in shapes:
        return "a list of these registers cannot stand here"
    if letters == _VCC_ONLY and _is_scalar(one):
        return "no register but VCC can stand here"
    if widths == _LANE_MASK and "v" not in letters and len(one.parts) == 1 and one.parts[0][0] >= SGPR.start:
        if one.parts[0][1] != wave_size // 32:
            return f"a lane mask has {wave_size // 32} dwords in wave{wave_size}"
        return ""
    if not letters - _VCC_ONLY:
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
    if bank == "v" and start > _LAST_LOW and ("l" in letters or (one.half is not None and "h" in letters)):
        return "only v0 to v127 can be named here"
    if not letters & _BANKS:
        return ""
    if bank not in letters and one.half is None:
        return f"a{'n AGPR' if bank == 'a' else ' VGPR' if bank == 'v' else 'n SGPR'} cannot stand here"
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
