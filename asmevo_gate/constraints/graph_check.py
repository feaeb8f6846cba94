"""Check constraint files: do they parse, do all names exist, has every fact a source (``asmevo-gate graph check``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo_gate.constraints.files import (
    ConstraintFileError,
    file_names,
    lay_over,
    load_shipped,
    read_file,
    resolve,
)
from asmevo_gate.constraints.model import ConstraintFile, ConstraintGraph, Edge
from asmevo_gate.constraints.predicates import PREDICATES
from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES
from asmevo_gate.isa.instruction import OP_BITS


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a constraint file; ``place`` is the key inside it."""

    file: str
    place: str
    message: str


def check_shipped() -> list[Problem]:
    """Problems of all shipped files."""
    problems: list[Problem] = []
    for name in file_names():
        try:
            document = load_shipped(name)
        except ConstraintFileError as error:
            problems.append(Problem(name, "", error.message))
            continue
        problems.extend(_file_problems(name, document))
        if document.gpu:
            problems.extend(_graph_problems(name, resolve(name)))
    return problems


def check_project_file(path: Path, graph: ConstraintGraph) -> list[Problem]:
    """Problems of a project's own file laid over a graph."""
    try:
        document = read_file(path.read_bytes(), str(path))
        laid = lay_over(graph, document, str(path))
    except ConstraintFileError as error:
        return [Problem(str(path), "", error.message)]
    return [*_file_problems(str(path), document), *_graph_problems(str(path), laid)]


def _file_problems(name: str, document: ConstraintFile) -> Iterator[Problem]:
    if not document.title:
        yield Problem(name, "title", "the file says nothing about itself")
    for override_id, override in document.overrides.items():
        if len(override.reason.split()) < 2:
            yield Problem(name, f"overrides.{override_id}", "the reason must say why, in words")


def _graph_problems(name: str, graph: ConstraintGraph) -> Iterator[Problem]:
    operations = OP_BITS.keys()
    for class_id, one in graph.classes.items():
        place = f"classes.{class_id}"
        for used in (*one.of, *one.outside):
            if used not in graph.classes:
                yield Problem(name, place, f"unknown class '{used}'")
        for bit in (*one.any, *one.all, *one.none):
            if bit not in operations:
                yield Problem(name, place, f"unknown instruction bit '{bit}'")
        if one.where and one.where not in PREDICATES:
            yield Problem(name, place, f"unknown predicate '{one.where}'")
        for hwreg in one.hwreg:
            if hwreg not in graph.hwregs:
                yield Problem(name, place, f"unknown hardware register '{hwreg}'")
    for node_id, node in graph.nodes.items():
        place = f"nodes.{node_id}"
        if node.instruction not in graph.classes:
            yield Problem(name, place, f"unknown class '{node.instruction}'")
        if node.role not in ROLES and node.role != "hwreg":
            yield Problem(name, place, f"unknown role '{node.role}'")
        if node.registers not in REGISTER_FILES:
            yield Problem(name, place, f"unknown register file '{node.registers}'")
    for edge_id, edge in graph.edges.items():
        for message in _edge_problems(edge, graph):
            yield Problem(name, f"edges.{edge_id}", message)


def _edge_problems(edge: Edge, graph: ConstraintGraph) -> Iterator[str]:
    nodes = [edge.consumer, *edge.steps] if edge.kind != "distance" else [edge.producer, edge.consumer]
    for node in filter(None, nodes):
        if node not in graph.nodes:
            yield f"unknown node '{node}'"
    if edge.kind == "distance" and not (edge.producer and edge.consumer):
        yield "a distance edge needs a producer and a consumer"
    if edge.kind == "sequence" and (len(edge.steps) < 3 or len(edge.step_clears) != len(edge.steps) - 1):
        yield "a sequence needs at least three steps, and what clears each step but the last"
    classes = [*edge.cleared_by, *(name for clears in edge.step_clears for name in clears)]
    for one in filter(None, [*classes, edge.through, edge.within_class]):
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
    if not edge.source:
        yield "no source"
    for source in edge.source:
        if source not in graph.sources:
            yield f"unknown source '{source}'"
    if edge.confidence == "medium" and edge.severity == "error" and edge.kind != "encoding":
        yield "a fact of medium confidence must not be an error"
