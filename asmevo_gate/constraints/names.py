"""Do the parts of a constraint graph fit together: every name that one part uses is that of another."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.predicates import PREDICATES
from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES
from asmevo_gate.isa.instruction import OP_BITS


def misfits(graph: ConstraintGraph) -> Iterator[tuple[str, str]]:
    """(place, what is wrong) of all that no engine can evaluate."""
    for class_id, one in graph.classes.items():
        place = f"classes.{class_id}"
        for used in (*one.of, *one.outside):
            if used not in graph.classes:
                yield place, f"unknown class '{used}'"
        for bit in (*one.any, *one.all, *one.none):
            if bit not in OP_BITS:
                yield place, f"unknown instruction bit '{bit}'"
        if one.where and one.where not in PREDICATES:
            yield place, f"unknown predicate '{one.where}'"
        for hwreg in one.hwreg:
            if hwreg not in graph.hwregs:
                yield place, f"unknown hardware register '{hwreg}'"
    try:
        TopologicalSorter({name: {*one.of, *one.outside} for name, one in graph.classes.items()}).prepare()
    except CycleError as error:
        circle = [str(name) for name in error.args[1]]
        yield f"classes.{circle[0]}", f"the class is made of itself: {' <- '.join(circle)}"
    for node_id, node in graph.nodes.items():
        place = f"nodes.{node_id}"
        if node.instruction not in graph.classes:
            yield place, f"unknown class '{node.instruction}'"
        if node.role not in ROLES and node.role != "hwreg":
            yield place, f"unknown role '{node.role}'"
        if node.registers not in REGISTER_FILES:
            yield place, f"unknown register file '{node.registers}'"
    for edge_id, edge in graph.edges.items():
        for message in _edge_misfits(edge, graph):
            yield f"edges.{edge_id}", message
    for house_id, rule in graph.house.items():
        if rule.instruction and rule.instruction not in graph.classes:
            yield f"house.{house_id}", f"unknown class '{rule.instruction}'"
        elif rule.kind == "longest_run" and not rule.instruction:
            yield f"house.{house_id}", "a longest run needs a class of instructions"


def _edge_misfits(edge: Edge, graph: ConstraintGraph) -> Iterator[str]:
    nodes = [edge.consumer, *edge.steps] if edge.kind != "distance" else [edge.producer, edge.consumer]
    for node in filter(None, nodes):
        if node not in graph.nodes:
            yield f"unknown node '{node}'"
    if edge.kind == "distance" and not (edge.producer and edge.consumer):
        yield "a distance edge needs a producer and a consumer"
    if edge.kind == "sequence" and (len(edge.steps) < 3 or len(edge.step_clears) != len(edge.steps) - 1):
        yield "a sequence needs at least three steps, and what clears each step but the last"
    classes = [*edge.cleared_by, *(name for clears in edge.step_clears for name in clears)]
    for one in filter(None, [*classes, edge.through, edge.within_class, edge.flushed_by]):
        if one not in graph.classes:
            yield f"unknown class '{one}'"
    for unit in (edge.unit, *edge.below):
        if unit != "wait_states" and unit not in graph.units:
            yield f"unknown unit '{unit}'"
    if edge.state and edge.state not in graph.states:
        yield f"unknown state '{edge.state}'"
    if edge.required == {}:
        yield "no required distance for this GPU"
    if isinstance(edge.required, dict):
        for grade in edge.required:
            if grade not in graph.grades:
                yield f"unknown grade '{grade}'"
