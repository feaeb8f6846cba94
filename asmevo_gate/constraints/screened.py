"""The plain engine without the walks that cannot find anything: the same violations as the reference engine.

A distance edge that asks for a common register can hit a consumer only when a producer somewhere in the function has
one of its registers. Producers are few and have registers of their own in most code (the accumulators of matrix
instructions, lane masks), so that few consumers are left to walk back from; and fewer yet with a producer that is near.
Of unrolled code that repeats itself one walk answers for all.
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
    """The consumers that are left of each distance edge of a function, in groups of the same answer."""

    def __init__(self, view: FunctionView, profiles: frozenset[str] = frozenset()) -> None:
        self._view = view
        self._active = {key: edge for key, edge in view.graph.edges.items() if view.active(edge, profiles)}
        self._consumers = {key: _consumers(view, edge) for key, edge in self._active.items() if edge.kind == "distance"}

    @property
    def walks(self) -> int:
        """How many groups of consumers there are: each is walked back from once, where that finds nothing."""
        return sum(map(len, self._consumers.values()))

    def violations(self) -> list[HazardViolation]:
        """All violations of the function, in program order."""
        found: list[HazardViolation] = []
        for edge_id, edge in self._active.items():
            if edge.kind == "distance":
                found.extend(self._too_near(edge_id, edge))
            else:
                found.extend(EVALUATORS[edge.kind](self._view, edge_id, edge))
        found.sort(key=lambda violation: (violation.consumer.index, violation.edge_id))
        return found

    def _too_near(self, edge_id: str, edge: Edge) -> list[HazardViolation]:
        groups = self._consumers[edge_id]
        found = distance_violations(self._view, edge_id, edge, [group[0] for group in groups])
        broken = {one.consumer.index for one in found}
        others = [index for group in groups if group[0] in broken for index in group[1:]]
        return found + distance_violations(self._view, edge_id, edge, others) if others else found


def _consumers(view: FunctionView, edge: Edge) -> list[list[int]]:
    """The consumers of a distance edge for which some producer of the function is near enough and, where the edge asks
    for it, has a register in common. Those with the same instructions before them, as far as the edge reaches, are in
    one group."""
    producers, consumers = view.related(edge)
    if not producers or not consumers:
        return []
    places = view.places(consumers)
    most = reach(edge)
    if most is None or edge.unit != "wait_states":
        return [[index] for index in places]
    made = view.places(producers)
    runs: dict[tuple[int, ...], list[int]] = {}
    for index in places:
        # Each instruction counts one wait state or more.
        first = index - most
        if first < view.blocks[view.block_of[index]].first:
            runs[(index,)] = [index]
        elif _has_between(made, first, index):
            runs.setdefault(tuple(view.keys[first : index + 1]), []).append(index)
    return list(runs.values())


def _has_between(places: list[int], first: int, end: int) -> bool:
    position = bisect_left(places, first)
    return position < len(places) and places[position] < end
