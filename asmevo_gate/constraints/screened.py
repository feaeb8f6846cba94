"""The plain engine without the walks that cannot find anything: the same violations as the reference engine.

A distance edge that asks for a common register can hit a consumer only when a producer somewhere in the function has
one of its registers. Producers are few and have registers of their own in most code (the accumulators of matrix
instructions, lane masks), so that few consumers are left to walk back from; and fewer yet with a producer that is near.
"""

from __future__ import annotations

from bisect import bisect_left

from asmevo_gate.constraints.distance import distance_violations
from asmevo_gate.constraints.edge_plan import reach
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.reference import EVALUATORS
from asmevo_gate.constraints.violation import HazardViolation


class Screen:
    """The consumers that are left of each distance edge of a function."""

    def __init__(self, view: FunctionView, profiles: frozenset[str] = frozenset()) -> None:
        self._view = view
        self._active = {key: edge for key, edge in view.graph.edges.items() if view.active(edge, profiles)}
        self._consumers = {
            key: _with_a_producer(view, edge) for key, edge in self._active.items() if edge.kind == "distance"
        }

    @property
    def walks(self) -> int:
        """How many consumers there are to walk back from."""
        return sum(map(len, self._consumers.values()))

    def violations(self) -> list[HazardViolation]:
        """All violations of the function, in program order."""
        found: list[HazardViolation] = []
        for edge_id, edge in self._active.items():
            if edge.kind == "distance":
                found.extend(distance_violations(self._view, edge_id, edge, self._consumers[edge_id]))
            else:
                found.extend(EVALUATORS[edge.kind](self._view, edge_id, edge))
        found.sort(key=lambda violation: (violation.consumer.index, violation.edge_id))
        return found


def _with_a_producer(view: FunctionView, edge: Edge) -> list[int]:
    """The consumers of a distance edge for which some producer of the function is near enough and, where the edge asks
    for it, has a register in common."""
    producers, consumers = view.related(edge)
    if not producers or not consumers:
        return []
    found = view.places(consumers)
    most = reach(edge)
    if most is None or edge.unit != "wait_states":
        return found
    # Each instruction counts one wait state or more.
    places = view.places(producers)
    return [index for index in found if _is_within(view, places, index, most)]


def _is_within(view: FunctionView, places: list[int], index: int, most: int) -> bool:
    """True when one of the places is among so many instructions before an instruction, or the way back leads out of
    its block before."""
    first = index - most
    if first < view.blocks[view.block_of[index]].first:
        return True
    position = bisect_left(places, first)
    return position < len(places) and places[position] < index
