"""What is known of scalar registers and of SCC along one path: branches that test the same thing agree.

Hand-written kernels skip a prefetch with "is the loop counter 1?" and ask the same question again before the wait. A
path that answers differently the second time does not exist. Facts are ranges of unsigned 32-bit scalar registers
(from comparisons with constants, moves and additions of constants), and truth values of other conditions as long
as their operands are unchanged.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.registers import EXEC, SCC, SGPRS, VCC

_COMPARE = r"s_cmpk?_(eq|lg|le|lt|ge|gt)_([ui])(32|64)"
_BRANCHES = {
    "s_cbranch_scc1": ("scc", True), "s_cbranch_scc0": ("scc", False), "s_cbranch_vccnz": ("vcc", True),
    "s_cbranch_vccz": ("vcc", False), "s_cbranch_execnz": ("exec", True), "s_cbranch_execz": ("exec", False),
}  # fmt: skip
_NEGATED = {"eq": "lg", "lg": "eq", "le": "gt", "gt": "le", "lt": "ge", "ge": "lt"}
_LAST = 2**32 - 1


class Condition(NamedTuple):
    """A comparison whose result is in SCC: relation, signedness, and the operands as (register or -1, value)."""

    relation: str
    sign: str
    left: tuple[int, int]
    right: tuple[int, int]

    @property
    def registers(self) -> int:
        """Registers whose values it depends on."""
        return sum(1 << number for number, _ in (self.left, self.right) if number >= 0)


Range = tuple[int, int, frozenset[int]]
"""Lowest and highest value, and values in between that are excluded."""


class Facts(NamedTuple):
    """What is known at one place of one path. ``scc`` is the condition whose result SCC holds."""

    ranges: frozenset[tuple[int, Range]] = frozenset()
    truths: frozenset[tuple[Condition | str, bool]] = frozenset()
    scc: Condition | None = None


NOTHING = Facts()


class Step(NamedTuple):
    """What an instruction does to facts."""

    writes: int
    condition: Condition | None
    moved: tuple[int, int] | None
    """Register and constant that it sets."""
    copied: tuple[int, int] | None
    """Register that it sets and register that it copies."""
    masked: tuple[int, int] | None
    """Register and largest value that it sets it to."""
    added: tuple[int, int] | None
    """Register and constant that it adds to the register."""


FORGET = Step(SGPRS | SCC | VCC | EXEC, None, None, None, None, None)
"""The step of an instruction that may write anything."""


def step_of(decoded: Decoded | None) -> Step | None:
    """The effect of an instruction on facts, ``None`` when it has none."""
    if decoded is None or decoded.is_call or decoded.has_indexed:
        return FORGET
    writes = decoded.writes & (SGPRS | SCC | VCC | EXEC)
    if not writes:
        return None
    return Step(
        writes, _condition(decoded), _moved(decoded), _copied(decoded), _masked(decoded), _added(decoded)
    )  # fmt: skip


def after(facts: Facts, step: Step) -> Facts:
    """The facts behind an instruction."""
    writes = step.writes
    ranges, truths, scc = facts.ranges, facts.truths, facts.scc
    if ranges and writes & SGPRS:
        kept = {(number, known) for number, known in ranges if not writes >> number & 1}
        if step.added:
            kept |= _shifted(dict(ranges), *step.added)
        ranges = frozenset(kept)
    if step.moved:
        number, value = step.moved
        ranges |= {(number, (value, value, frozenset()))}
    elif step.masked:
        ranges |= {(step.masked[0], (0, step.masked[1], frozenset()))}
    elif step.copied:
        known = dict(facts.ranges).get(step.copied[1])
        if known is not None:
            ranges |= {(step.copied[0], known)}
    if truths:
        truths = frozenset(one for one in truths if not _depends(one[0]) & writes)
    if writes & SCC:
        scc = step.condition
        if scc is not None and scc.registers & writes:
            scc = None
    elif scc is not None and scc.registers & writes:
        truths = frozenset(one for one in truths if one[0] != "scc")
        scc = None
    return Facts(ranges, truths, scc)


def along(facts: Facts, branch: Decoded, taken: bool) -> Facts | None:
    """The facts behind a conditional branch that is taken or not, ``None`` when they exclude it."""
    known = _BRANCHES.get(branch.base)
    if known is None:
        return facts
    source, when = known
    truth = taken == when
    key: Condition | str = source
    if source == "scc" and facts.scc is not None:
        key = facts.scc
        decided = _decided(facts, key)
        if decided is not None:
            return facts if decided == truth else None
        if key.sign == "u" and key.left[0] >= 0 and key.right[0] < 0:
            return _narrowed(facts, key, truth)
    for one, value in facts.truths:
        if one == key:
            return facts if value == truth else None
    return facts._replace(truths=facts.truths | {(key, truth)})


def _depends(key: Condition | str) -> int:
    if isinstance(key, Condition):
        return key.registers
    return {"scc": SCC, "vcc": VCC, "exec": EXEC}[key]


def _decided(facts: Facts, condition: Condition) -> bool | None:
    if condition.sign == "u" and condition.left[0] >= 0 and condition.right[0] < 0:
        known = dict(facts.ranges).get(condition.left[0])
        if known is None:
            return None
        low, high, excluded = known
        value = condition.right[1]
        inside = low <= value <= high and value not in excluded
        return {
            "eq": True if low == high == value else None if inside else False,
            "lg": False if low == high == value else None if inside else True,
            "le": True if high <= value else False if low > value else None,
            "lt": True if high < value else False if low >= value else None,
            "ge": True if low >= value else False if high < value else None,
            "gt": True if low > value else False if high <= value else None,
        }[condition.relation]
    negated = condition._replace(relation=_NEGATED[condition.relation])
    for one, value in facts.truths:
        if one == condition:
            return value
        if one == negated:
            return not value
    return None


def _narrowed(facts: Facts, condition: Condition, truth: bool) -> Facts | None:
    number, value = condition.left[0], condition.right[1]
    relation = condition.relation if truth else _NEGATED[condition.relation]
    low, high, excluded = dict(facts.ranges).get(number, (0, _LAST, frozenset()))
    if relation == "eq":
        low = high = value
    elif relation == "lg":
        excluded |= {value}
    elif relation in ("le", "lt"):
        high = min(high, value - (relation == "lt"))
    else:
        low = max(low, value + (relation == "gt"))
    while low in excluded:
        low += 1
    while high in excluded:
        high -= 1
    if low > high:
        return None
    excluded = frozenset(one for one in excluded if low < one < high)
    others = frozenset(one for one in facts.ranges if one[0] != number)
    return facts._replace(ranges=others | {(number, (low, high, excluded))})


def _shifted(ranges: dict[int, Range], number: int, amount: int) -> set[tuple[int, Range]]:
    known = ranges.get(number)
    if known is None:
        return set()
    low, high = known[0] + amount, known[1] + amount
    excluded = frozenset((one + amount) & _LAST for one in known[2])
    if low < 0 or high > _LAST:
        low, high = 0, _LAST
    return {(number, (low, high, excluded))}


def both(one: Facts, other: Facts, exact: bool) -> Facts:
    """What holds in both cases; with ``exact`` only the ranges that are the same, so that repetition ends."""
    ranges = one.ranges & other.ranges
    if not exact:
        theirs = dict(other.ranges)
        same = {number for number, _ in ranges}
        for number, (low, high, excluded) in one.ranges:
            if number in same or number not in theirs:
                continue
            low2, high2, excluded2 = theirs[number]
            neither = {
                v for v in excluded | excluded2 if _outside(v, one.ranges, number) and _outside(v, other.ranges, number)
            }
            ranges |= {(number, (min(low, low2), max(high, high2), frozenset(neither)))}
    return Facts(ranges, one.truths & other.truths, one.scc if one.scc == other.scc else None)


def _outside(value: int, ranges: frozenset[tuple[int, Range]], number: int) -> bool:
    low, high, excluded = dict(ranges)[number]
    return not low <= value <= high or value in excluded


def _condition(decoded: Decoded) -> Condition | None:
    match = re.fullmatch(_COMPARE, decoded.base)
    if match is None or len(decoded.operands) != 2:
        return None
    left, right = (_operand(decoded, position) for position in (0, 1))
    if left is None or right is None or match[3] == "64":
        return None
    sign = "u" if match[1] in ("eq", "lg") else match[2]
    return Condition(match[1], sign, left, right)


def _operand(decoded: Decoded, position: int) -> tuple[int, int] | None:
    operand = decoded.operands[position]
    if operand.length == 1 and operand.mask & SGPRS and not operand.indexed:
        return operand.start, 0
    if not operand.length and isinstance(operand.value, int):
        short = decoded.base.startswith(("s_cmpk_", "s_movk_"))  # 16 bits, extended by sign or by zero
        return None if short and not 0 <= operand.value < 1 << 15 else (-1, operand.value & _LAST)
    return None


def _moved(decoded: Decoded) -> tuple[int, int] | None:
    if decoded.base not in ("s_mov_b32", "s_movk_i32") or len(decoded.operands) != 2:
        return None
    target, value = _operand(decoded, 0), _operand(decoded, 1)
    if not (target and value) or target[0] < 0 or value[0] >= 0:
        return None
    return target[0], value[1]


def _copied(decoded: Decoded) -> tuple[int, int] | None:
    if decoded.base != "s_mov_b32" or len(decoded.operands) != 2:
        return None
    target, source = _operand(decoded, 0), _operand(decoded, 1)
    if not (target and source) or target[0] < 0 or source[0] < 0:
        return None
    return target[0], source[0]


def _masked(decoded: Decoded) -> tuple[int, int] | None:
    if decoded.base != "s_and_b32" or len(decoded.operands) != 3:
        return None
    target, source, mask = (_operand(decoded, position) for position in (0, 1, 2))
    if not (target and source and mask) or target[0] < 0 or mask[0] >= 0:
        return None
    return target[0], mask[1]


def _added(decoded: Decoded) -> tuple[int, int] | None:
    sign = {"s_add_u32": 1, "s_add_i32": 1, "s_sub_u32": -1, "s_sub_i32": -1}.get(decoded.base)
    if sign is None or len(decoded.operands) != 3:
        return None
    target, first, second = (_operand(decoded, position) for position in (0, 1, 2))
    if not (target and first and second) or target != first or second[0] >= 0 or target[0] < 0:
        return None
    amount = second[1] if second[1] < 2**31 else second[1] - 2**32
    return target[0], sign * amount
