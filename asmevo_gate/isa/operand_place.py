"""One operand text in one place of an instruction form: does it fit, and which registers does it read and write there?

An operand text is decided once for each place: kernels write the same registers in the same places again and again.
"""

from __future__ import annotations

from functools import cache, lru_cache

import msgspec

from asmevo_gate.isa.instruction import Operand, Role
from asmevo_gate.isa.operand_check import misfit
from asmevo_gate.isa.operand_text import slot

_MOST_REMEMBERED = 100_000
_READ, _WRITE, _KEEP = Role.READ, Role.WRITE, Role.KEEP
_ROLES = {
    "-": 0, "D": _WRITE, "U": _READ, "B": _READ | _WRITE, "E": _READ | _WRITE, "K": _WRITE | _KEEP, "O": _WRITE | _KEEP,
}  # fmt: skip
_RESULTS = frozenset("DBKO")
_NO_RESULT = frozenset(("null", "off"))
"""Operands that throw a result away."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """An operand text in its place.

    ``refusal`` is the kind and the reason of why it cannot stand there (see ``NotDecoded``), empty when it can.
    ``operands`` are its registers, or the one operand that is no register. ``reads``, ``writes`` and ``keeps`` are bit
    sets as those of an instruction.
    """

    refusal: tuple[str, str] | tuple[()] = ()
    operands: tuple[Operand, ...] = ()
    reads: int = 0
    writes: int = 0
    keeps: int = 0


@cache
def roles_of(letters: str) -> tuple[tuple[str, int], ...]:
    """Letter, and role of a register, for each operand of a form."""
    return tuple((letter, _ROLES[letter.upper()] or _READ) for letter in letters)


@lru_cache(_MOST_REMEMBERED)
def placed(text: str, kinds: str, letter: str, role: int, wave_size: int) -> Placed:
    """An operand text where the table has ``kinds`` and ``letter``, with the role that a register has there in this
    instruction."""
    one = slot(text)
    if one.symbolic:
        return Placed(("symbolic", f"'{text}' needs a symbol that the file does not define"))
    problem = one.problem or misfit(text, one, kinds, wave_size)
    if not problem and letter == "-" and kinds == "" and one.parts:
        problem = "no register can stand here"
    if not problem and letter in _RESULTS and not one.parts and text not in _NO_RESULT:
        problem = "a result needs a register"
    if problem:
        return Placed(("no_form", f"'{text}': {problem}"))
    if not one.parts:
        return Placed((), (Operand(text, Role.NONE, -1, 0, None, one.value),))
    if role & _WRITE and one.half is not None:
        role |= _KEEP
    indexed = letter.islower()
    operands = tuple(Operand(text, role, start, length, one.half, one.value, indexed) for start, length in one.parts)
    mask = 0
    for operand in operands:
        mask |= operand.mask
    return Placed(
        (), operands,
        mask if role & (_READ | _KEEP) else 0, mask if role & _WRITE else 0, mask if role & _KEEP else 0,
    )  # fmt: skip


def placed_list(text: str, role_letters: str) -> Placed:
    """A list whose elements have roles of their own; all are read and written when the table has another number of
    them."""
    one = slot(text)
    roles = [_ROLES[letter] for letter in role_letters]
    if len(roles) != len(one.elements):
        roles = [_READ | _WRITE] * len(one.elements)
    operands = tuple(
        Operand(text, role, start, length) for (start, length), role in zip(one.elements, roles, strict=True)
    )
    reads = writes = 0
    for operand in operands:
        reads |= operand.mask if operand.role & _READ else 0
        writes |= operand.mask if operand.role & _WRITE else 0
    return Placed((), operands, reads, writes)
