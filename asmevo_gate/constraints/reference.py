"""The reference engine: what the constraint graph means, in plain Python.

Every active edge is evaluated by the evaluator of its kind, one edge after the other; distances are minima over
all paths of the control flow. The ONNX engine must give the same violations on every input.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.constraints.distance import distance_violations
from asmevo_gate.constraints.forwarding import forwarding_violations
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.local_kinds import (
    clause_violations,
    directly_after_violations,
    directly_before_violations,
    encoding_violations,
)
from asmevo_gate.constraints.model import ConstraintGraph, Edge, Kind
from asmevo_gate.constraints.sequence import sequence_violations
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.program.model import Function

Evaluator = Callable[[FunctionView, str, Edge], list[HazardViolation]]
EVALUATORS: dict[Kind, Evaluator] = {
    "distance": distance_violations,
    "sequence": sequence_violations,
    "forwarding": forwarding_violations,
    "clause": clause_violations,
    "directly_before": directly_before_violations,
    "directly_after": directly_after_violations,
    "encoding": encoding_violations,
}


def violations(
    function: Function, constraints: ConstraintGraph, profiles: frozenset[str] = frozenset()
) -> list[HazardViolation]:
    """All violations of a function, in program order. ``profiles`` are the opt-in profiles that are switched on."""
    return evaluate(FunctionView(function, constraints), profiles)


def evaluate(
    view: FunctionView, profiles: frozenset[str] = frozenset(), edge_ids: frozenset[str] | None = None
) -> list[HazardViolation]:
    """The same on a view that exists already; ``edge_ids`` restricts it to some edges."""
    found: list[HazardViolation] = []
    for edge_id, edge in view.graph.edges.items():
        if (edge_ids is None or edge_id in edge_ids) and view.active(edge, profiles):
            found.extend(EVALUATORS[edge.kind](view, edge_id, edge))
    found.sort(key=lambda violation: (violation.consumer.index, violation.edge_id))
    return found
