"""Explain a violation: the edge and its condition, the two states, the path between them, the smallest repair."""

from __future__ import annotations

import re

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.sequences import HouseViolation
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.registers import set_name
from asmevo_gate.program.model import Function, Instruction

_UNITS = {
    "wait_states": "wait state", "valu": "VALU instruction", "valu_not_nop": "VALU instruction other than v_nop",
    "trans": "transcendental instruction", "sgpr_writes": "SGPR write",
}  # fmt: skip


class Explanation(msgspec.Struct, frozen=True):
    """The parts of an explanation; :meth:`lines` puts them together as ``--debug-constraint`` prints them."""

    rule: str
    message: str
    condition: str
    producer_state: str
    consumer_state: str
    root_cause: str
    path: tuple[str, ...]
    repair: str
    source: str
    conflict: str

    def lines(self) -> list[str]:
        """One fact a line."""
        return [
            f"violation: {self.message}",
            f"failed edge: {self.rule}",
            f"condition: {self.condition}",
            *([f"producer state: {self.producer_state}"] if self.producer_state else []),
            f"consumer state: {self.consumer_state}",
            f"root cause: {self.root_cause}",
            *(f"path: {step}" for step in self.path),
            f"repair: {self.repair}",
            f"source: {self.source}",
            *([f"conflict: {self.conflict}"] if self.conflict else []),
        ]


def explain(violation: HazardViolation, graph: ConstraintGraph, function: Function) -> Explanation:
    """The explanation of one violation."""
    edge = violation.edge
    sources = "; ".join(graph.sources.get(name, name) for name in edge.source)
    compilers = f" ({edge.llvm})" if edge.llvm else ""
    return Explanation(
        rule=f"{edge.rule}{compilers}",
        message=message(violation),
        condition=condition(violation),
        producer_state=_state(violation.producer, edge.producer or _step(edge, -2), graph),
        consumer_state=_state(violation.consumer, edge.consumer or _step(edge, -1), graph),
        root_cause=edge.explanation,
        path=tuple(_path(violation, function)),
        repair=repair(violation),
        source=sources,
        conflict=edge.conflict,
    )


def explain_house(violation: HouseViolation, graph: ConstraintGraph) -> Explanation:
    """The explanation of a broken house rule."""
    places = [one.statement for one in violation.through]
    place = violation.instruction.statement
    return Explanation(
        rule=violation.rule,
        message=violation.message,
        condition=violation.house.title,
        producer_state="",
        consumer_state=f"instruction at line {place.outer_place.line}: '{place.text}'",
        root_cause=violation.house.comment,
        path=tuple(f"line {one.outer_place.line}: {one.text}" for one in places),
        repair=violation.repair,
        source=f"house rule of {graph.name}: nothing in the hardware asks for it",
        conflict="",
    )


def message(violation: HazardViolation) -> str:
    """One sentence: what is too near to what, on which registers, by how much."""
    edge = violation.edge
    registers = f" ({register_names(violation)})" if violation.registers else ""
    title = f"{edge.title[0].upper()}{edge.title[1:]}"
    if violation.producer is None:
        return title
    where = f"line {violation.producer.statement.outer_place.line}"
    text = f"{title}{registers}: '{violation.producer.statement.text}' ({where})"
    if violation.found is not None and violation.needed is not None:
        distance = counted(violation.found, edge.unit)
        return f"{text} is {distance} before, {violation.needed} needed"
    if violation.found is not None:
        return f"{text}, and nothing in between makes it safe"
    return f"{text} is not waited for"


def register_names(violation: HazardViolation) -> str:
    """The registers for people; hardware register ids for s_setreg hazards."""
    edge = violation.edge
    if edge.producer == "setreg_hwreg":
        ids = [str(bit) for bit in range(64) if violation.registers >> bit & 1]
        return f"hardware register {', '.join(ids)}"
    return set_name(violation.registers)


def condition(violation: HazardViolation) -> str:
    """The condition of the edge that was not met."""
    edge = violation.edge
    if edge.kind == "sequence":
        return f"{edge.title}, with no wait before the last of them"
    if violation.needed is not None:
        found = counted(violation.found or 0, edge.unit)
        text = f"at least {counted(violation.needed, edge.unit)} between producer and consumer, found {found}"
        if edge.below:
            limits = ", ".join(f"fewer than {limit} {_UNITS.get(unit, unit)}s" for unit, limit in edge.below.items())
            text += f" (while {limits} lie between)"
        return text
    if edge.kind in ("directly_before", "directly_after"):
        return f"the required instruction stands {edge.kind.replace('_', ' ')} it"
    if edge.cleared_by or edge.cleared_by_field:
        return "a mitigation lies between producer and consumer; no distance is enough"
    return edge.title


def repair(violation: HazardViolation) -> str:
    """The smallest repair: the missing wait states as ``s_nop``, or the mitigation of the edge."""
    edge = violation.edge
    line = violation.consumer.statement.outer_place.line
    if edge.unit == "wait_states" and violation.needed is not None and violation.found is not None:
        missing = violation.needed - violation.found
        nops = "; ".join(f"s_nop {min(missing - start, 16) - 1}" for start in range(0, missing, 16))
        return f"insert '{nops}' before line {line}, or {counted(missing, 'wait_states')} of independent instructions"
    if edge.unit == "valu" and violation.needed is not None and not edge.below and violation.found is not None:
        missing = violation.needed - violation.found
        if edge.required_field:
            return f"lower {edge.required_field} to {violation.found} in line {line}"
        return f"insert {counted(missing, 'v_nop')} (or independent VALU instructions) before line {line}"
    return re.sub(r"\.$", "", edge.repair)


def counted(number: int, unit: str) -> str:
    """A number with its unit in the right grammatical number."""
    name = _UNITS.get(unit, unit)
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _step(edge: Edge, position: int) -> str:
    return edge.steps[position] if edge.steps else ""


def _state(instruction: Instruction | None, node: str, graph: ConstraintGraph) -> str:
    if instruction is None:
        return ""
    title = graph.nodes[node].title if node in graph.nodes else ""
    place = instruction.statement.outer_place
    return f"{title or 'instruction'} at line {place.line}: '{instruction.statement.text}'"


def _path(violation: HazardViolation, function: Function) -> list[str]:
    steps: list[str] = []
    for instruction in violation.through:
        steps.append(f"line {instruction.statement.outer_place.line}: {instruction.statement.text}")
    function = violation.linked or function
    if len(violation.blocks) > 1:
        labels = [
            function.blocks[number].label or f"line {_first_line(function, number)}" for number in violation.blocks
        ]
        steps.append(f"through blocks {' -> '.join(labels)}")
    return steps


def _first_line(function: Function, number: int) -> int:
    return function.instructions[function.blocks[number].first].statement.outer_place.line
