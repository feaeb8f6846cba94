"""Loaded values as inputs of a counterexample: memory may hold anything, unless two loads may read the same place."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from asmevo_gate.proof.terms import Term

if TYPE_CHECKING:
    from asmevo_gate.proof.evaluate import Evaluation

_LOAD = re.compile(r"(global|flat|buffer|tbuffer|scratch|s_buffer|s|ds)_(load|read)_")
_SIZES = re.compile(
    r"_(?:dwordx(?P<dwords>\d+)|b(?P<bits>\d+)|(?P<word>dword|[usi]?(?:byte|short|8|16|u8|i8|u16|i16)))"
)


def is_load(term: Term) -> bool:
    """True for a register that a plain load wrote."""
    return term.op == "apply" and bool(_LOAD.match(term.data.name))


def above_loads(roots: list[Term]) -> list[Term]:
    """The nodes below the roots down to loads, whose addresses are left out."""
    seen: dict[Term, None] = {}
    stack = list(roots)
    while stack:
        term = stack.pop()
        if term not in seen:
            seen[term] = None
            if not is_load(term):
                stack.extend(term.args)
    return list(seen)


def loads_below(roots: list[Term]) -> list[Term]:
    """The loaded values that the roots depend on."""
    return sorted((term for term in above_loads(roots) if is_load(term)), key=lambda term: term.id)


def are_free(old: Term, new: Term, evaluation: Evaluation, place: tuple[int, int]) -> bool:
    """True when nothing but loaded values is unknown below the terms, and these are surely from different places in the
    lane of ``place``: the difference that was found then stands for some content of memory."""
    from asmevo_gate.proof.evaluate import is_unknown

    found = above_loads([old, new])
    if any(is_unknown(term) for term in found if not is_load(term)):
        return False
    return all(_distinct(one, two, evaluation, place) for one, two in combinations(loads_below([old, new]), 2))


def _distinct(one: Term, two: Term, evaluation: Evaluation, place: tuple[int, int]) -> bool:
    if one.args == two.args:
        # Two registers of one load, or two loads with nothing between them from the same base.
        return one.data.name.partition(" -> ")[0] == two.data.name.partition(" -> ")[0] or _apart(one, two)
    first, second = (_address(term, evaluation, place) for term in (one, two))
    return first != second or _apart(one, two)


def _address(term: Term, evaluation: Evaluation, place: tuple[int, int]) -> list[int]:
    """The address operands: all arguments but the token, MODE and EXEC."""
    wave, lane = place
    values = [evaluation.value(arg)[wave] for arg in term.args[1:-2]]
    return [int(value[min(lane, len(value) - 1)]) for value in values]


def _apart(one: Term, two: Term) -> bool:
    """True when immediate offsets of loads from one base keep them apart."""
    first, second = _extent(one.data.name), _extent(two.data.name)
    if first is None or second is None:
        return False
    return first[0] + first[1] <= second[0] or second[0] + second[1] <= first[0]


def _extent(name: str) -> tuple[int, int] | None:
    """Immediate offset and number of bytes; ``None`` when they are not known."""
    size = _SIZES.search(name.partition(" ")[0])
    if size is None:
        return None
    count = 4 * int(size["dwords"]) if size["dwords"] else int(size["bits"]) // 8 if size["bits"] else 4
    offset = re.search(r"offset:(\S+)", name)
    text = offset[1] if offset else _last_operand(name)
    try:
        return int(text, 0), count
    except ValueError:
        return None


def _last_operand(name: str) -> str:
    shape = name.partition(" -> ")[0].split()
    last = shape[-1].split(",")[-1] if len(shape) > 1 else "0"
    return "0" if last.startswith("r") else last
