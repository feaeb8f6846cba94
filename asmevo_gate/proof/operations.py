"""The register of meanings: base mnemonic -> what the instruction computes from its sources.

Meanings are written in :mod:`asmevo_gate.proof.semantics`, one module a family, with the :func:`operation`
decorator. Types of results and sources, in the order of the operands:

``b32 i32 u32 f32`` and the same with 16 or 64: a value of that width (the letter tells how constants and source
modifiers apply); ``pk_f16 pk_i16 pk_u16 pk_b16``: two halves; ``pk_f32 pk_b64``: two dwords;
``mask``: a lane mask, of which the instruction sees or sets its lane's bit; ``wave``: the mask as a wave-wide value;
``raw``: the operand's text. ``scc``, ``vcc``, ``exec`` stand in no operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from asmevo_gate.proof.terms import Term, Terms


class Call:
    """What a meaning may look at besides its sources: the instruction's modifiers, MODE, the lane."""

    __slots__ = ("mode", "modifiers", "terms", "wave_size")

    def __init__(self, terms: Terms, mode: Term, modifiers: dict[str, str], wave_size: int) -> None:
        self.terms = terms
        self.mode = mode
        self.modifiers = modifiers
        self.wave_size = wave_size


Meaning = Callable[..., "Term | tuple[Term, ...]"]
_M = TypeVar("_M", bound=Callable[..., Any])


class Operation(NamedTuple):
    """Results, sources and meaning of one base mnemonic; ``accumulates``: the old destination is the last source."""

    results: tuple[str, ...]
    sources: tuple[str, ...]
    meaning: Meaning
    accumulates: bool = False


OPERATIONS: dict[str, Operation] = {}
IMPLICIT = frozenset(("scc", "vcc", "exec"))


def operation(bases: str, results: str, sources: str, accumulates: bool = False) -> Callable[[_M], _M]:
    """Register a meaning for the base mnemonics (separated by blanks)."""

    def register(meaning: _M) -> _M:
        for base in bases.split():
            if base in OPERATIONS:
                raise ValueError(f"{base} has two meanings")
            OPERATIONS[base] = Operation(tuple(results.split()), tuple(sources.split()), meaning, accumulates)
        return meaning

    return register


def parts_of(kind: str) -> tuple[str, int]:
    """``("f", 32)`` of ``f32``; ``("pk_f", 32)`` of ``pk_f16``."""
    if kind.startswith("pk_"):
        return kind[:4], 64 if kind in ("pk_f32", "pk_b64") else 32
    return kind[0], int(kind[1:])
