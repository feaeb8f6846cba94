"""Hazards over a call: a producer before it and a consumer in the callee, or the other way round."""

from __future__ import annotations

from pathlib import Path

import msgspec

from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.program.calls import LinkedFunction

_KINDS = ("distance", "sequence", "forwarding")
"""The other kinds look at one instruction and its neighbours; a call is a neighbour like any other."""


def _holds_over_calls(edge: Edge) -> bool:
    """An edge that is armed at every function entry is judged in each function, by what may be left behind a call."""
    return edge.kind in _KINDS and not edge.armed_at_function_entry


def call_violations(
    linked: LinkedFunction,
    graph: ConstraintGraph,
    profiles: frozenset[str] = frozenset(),
    cache: Path | None = None,
) -> list[HazardViolation]:
    """Violations whose path leads into or out of a called function, each once, in program order."""
    if not linked.followed:
        return []
    view = FunctionView(linked.function, graph)
    found: dict[tuple[str, tuple[object, ...]], HazardViolation] = {}
    for violation in hazard_violations(linked.function, graph, profiles, cache, view):
        on_path = {*violation.blocks, *(view.block_of[one.index] for one in violation.through)}
        if _holds_over_calls(violation.edge) and len({linked.copy_of[number] for number in on_path}) > 1:
            places = tuple(one.statement.place for one in violation.through)
            found.setdefault((violation.edge_id, places), msgspec.structs.replace(violation, linked=linked.function))
    return list(found.values())
