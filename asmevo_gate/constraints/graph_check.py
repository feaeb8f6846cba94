"""Check constraint files: do they parse, do all names exist, has every fact a source (``asmevo-gate graph check``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo_gate.constraints.files import (
    ConstraintFileError,
    file_names,
    laid_over,
    load_shipped,
    read_file,
    resolve,
)
from asmevo_gate.constraints.model import ConstraintFile, ConstraintGraph, Edge
from asmevo_gate.constraints.names import misfits


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
        laid = laid_over(graph, document, str(path))
    except ConstraintFileError as error:
        return [Problem(str(path), "", error.message)]
    # The severity of a shipped edge is the project's to choose; what the file itself says must be founded.
    own = [Problem(str(path), place, message) for place, message in _unfounded(document.edges, laid)]
    fits = [Problem(str(path), place, message) for place, message in misfits(laid)]
    return [*_file_problems(str(path), document), *fits, *own]


def _file_problems(name: str, document: ConstraintFile) -> Iterator[Problem]:
    if not document.title:
        yield Problem(name, "title", "the file says nothing about itself")
    for override_id, override in document.overrides.items():
        if len(override.reason.split()) < 2:
            yield Problem(name, f"overrides.{override_id}", "the reason must say why, in words")


def _graph_problems(name: str, graph: ConstraintGraph) -> Iterator[Problem]:
    for place, message in misfits(graph):
        yield Problem(name, place, message)
    for place, message in _unfounded(graph.edges, graph):
        yield Problem(name, place, message)


def _unfounded(edges: dict[str, Edge], graph: ConstraintGraph) -> Iterator[tuple[str, str]]:
    for edge_id, edge in edges.items():
        for message in _edge_problems(edge, graph):
            yield f"edges.{edge_id}", message


def _edge_problems(edge: Edge, graph: ConstraintGraph) -> Iterator[str]:
    if not edge.source:
        yield "no source"
    for source in edge.source:
        if source not in graph.sources:
            yield f"unknown source '{source}'"
    if edge.confidence == "medium" and edge.severity == "error" and edge.kind != "encoding":
        yield "a fact of medium confidence must not be an error"
