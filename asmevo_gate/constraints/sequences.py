"""House rules: a team's own sequence, instruction and register rules, off unless a project turns them on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

import msgspec

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph, HouseRule
from asmevo_gate.errors import UsageError
from asmevo_gate.isa import registers
from asmevo_gate.isa.registers import set_name
from asmevo_gate.program.model import Function, Instruction

_RANGE = r"^(?P<bank>v|a|s)(?:\[(?P<first>[0-9]{1,9}):(?P<last>[0-9]{1,9})\]|(?P<one>[0-9]{1,9}))$"
_BANKS = {"v": registers.VGPR, "a": registers.AGPR, "s": registers.SGPR}


class HouseViolation(msgspec.Struct, frozen=True):
    """A broken house rule: the instruction, and those that lead to it."""

    rule: str
    house: HouseRule
    instruction: Instruction
    message: str
    repair: str
    through: tuple[Instruction, ...] = ()


def house_violations(
    function: Function,
    graph: ConstraintGraph,
    enabled: frozenset[str] = frozenset(),
    view: FunctionView | None = None,
) -> list[HouseViolation]:
    """Violations of the house rules that the data or ``enabled`` switch on, in program order. ``view`` is the function
    as the graph sees it, where that was made already."""
    found: list[HouseViolation] = []
    for name, rule in graph.house.items():
        if rule.enabled or name in enabled:
            view = view or FunctionView(function, graph)
            found.extend(_KINDS[rule.kind](view, name, rule))
    found.sort(key=lambda one: (one.instruction.index, one.rule))
    return found


def _forbidden(view: FunctionView, name: str, rule: HouseRule) -> Iterator[HouseViolation]:
    for instruction in view.function.instructions:
        if instruction.decoded is not None and _is_one_of(instruction.decoded.base, rule.mnemonics):
            message = f"'{instruction.decoded.base}' is not used here: {rule.title}"
            yield HouseViolation(f"house.{name}", rule, instruction, message, "use other instructions", (instruction,))


def _longest_run(view: FunctionView, name: str, rule: HouseRule) -> Iterator[HouseViolation]:
    mask = view.matcher.class_mask((rule.instruction,))
    instructions = view.function.instructions
    for block in view.blocks:
        run: list[Instruction] = []
        for index in range(block.first, block.end):
            traits = view.traits[index]
            if traits is None or not traits.classes & mask:
                run = []
                continue
            run.append(instructions[index])
            if len(run) == rule.limit + 1:
                message = f"more than {rule.limit} instructions of one kind in a row: {rule.title}"
                repair = "put another kind of instruction before this one"
                yield HouseViolation(f"house.{name}", rule, instructions[index], message, repair, tuple(run))


def _must_follow(view: FunctionView, name: str, rule: HouseRule) -> Iterator[HouseViolation]:
    instructions = view.function.instructions
    for instruction in instructions:
        if instruction.decoded is None or not _is_one_of(instruction.decoded.base, rule.mnemonics):
            continue
        following = instructions[instruction.index + 1] if instruction.index + 1 < len(instructions) else None
        if following is None or following.decoded is None or not _is_one_of(following.decoded.base, rule.then):
            wanted = " or ".join(rule.then)
            message = f"'{instruction.decoded.base}' without {wanted} behind it: {rule.title}"
            yield HouseViolation(f"house.{name}", rule, instruction, message, f"put {wanted} behind it", (instruction,))


def _reserved(view: FunctionView, name: str, rule: HouseRule) -> Iterator[HouseViolation]:
    reserved = 0
    for text in rule.registers:
        reserved |= _register_set(text)
    for instruction in view.function.instructions:
        if instruction.decoded is not None and instruction.decoded.writes & reserved:
            registers_written = set_name(instruction.decoded.writes & reserved)
            message = f"writes {registers_written}, which is reserved: {rule.title}"
            yield HouseViolation(f"house.{name}", rule, instruction, message, "use another register", (instruction,))


def _register_set(text: str) -> int:
    match = re.match(_RANGE, text.replace(" ", ""))
    if not match:
        raise UsageError(f"'{text}' is no register range", "write it as v[240:255] or s7")
    bank = _BANKS[match["bank"]]
    first = int(match["first"] or match["one"])
    last = int(match["last"] or match["one"])
    if not first <= last < bank.count:
        raise UsageError(f"'{text}' is no register range", f"'{bank.prefix}' has {bank.count} registers")
    return registers.bits(bank.start + first, last - first + 1)


def _is_one_of(base: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(base, pattern) for pattern in patterns)


_KINDS: dict[str, Callable[[FunctionView, str, HouseRule], Iterator[HouseViolation]]] = {
    "forbidden": _forbidden,
    "longest_run": _longest_run,
    "must_follow": _must_follow,
    "reserved_registers": _reserved,
}
