"""How many wait states two instruction texts of a function need between them, by all edges that count wait states.

Clears, limits and modes of an edge are ignored, so that a need is never taken for smaller than it is. Unknown code
(a caller or callee, an instruction without a meaning, registers by index) may need all that any edge asks for.
"""

from __future__ import annotations

from asmevo_gate.constraints.distance import DistanceEdge
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.violation import UNBOUNDED
from asmevo_gate.isa.instruction import Decoded

UNKNOWN = 0
"""Stands, as the key of a text, for code that is not seen."""

_FIELD_MOST = 15
"""The largest distance that a consumer can ask for in a field of its own."""

SETTLES = ("s_setreg", "s_setvskip", "s_icache_inv", "s_trap", "s_rfe")
"""Their effect takes time that no edge states in full (AMD ISA guides, S_ICACHE_INV: 16 separate s_nop behind it)."""


class Needs:
    """What the texts of one function need, by key (:attr:`FunctionView.keys`)."""

    def __init__(self, view: FunctionView, profiles: frozenset[str]) -> None:
        self._edges = [
            DistanceEdge(edge_id, edge, view)
            for edge_id, edge in view.graph.edges.items()
            if _counts_wait_states(edge) and view.active(edge, profiles)
        ]
        self.reach = max(map(_most, self._edges), default=0)
        self.unknown = {UNKNOWN, *view.named(SETTLES)}
        self.unknown.update(key for key, decoded in view.texts.items() if _is_unknown(decoded))
        """Keys of texts of which it is not known what they do."""
        self.ahead: dict[int, int] = {}
        """The most that a text may need behind it, for those that may need something."""
        self.behind: dict[int, int] = {}
        """The most that it may need before it."""
        self._distinct = view.distinct
        self._produces: dict[int, int] = {}
        self._consumes: dict[int, int] = {}
        """Edges that a text is in, as bit sets of positions."""
        self._pairs: dict[tuple[int, int], int] = {}
        closed = len(self.unknown) == 1 and _is_closed(view)
        for position, one in enumerate(self._edges):
            self._take(view, one, 1 << position, closed)
        self.ahead.update(dict.fromkeys(self.unknown, self.reach))
        self.behind.update(dict.fromkeys(self.unknown, self.reach))

    def _take(self, view: FunctionView, one: DistanceEdge, bit: int, closed: bool) -> None:
        """Note the texts of an edge. Where all code is seen, those without a partner in it need nothing."""
        edge, most = one.edge, _most(one)
        producers, consumers = view.registers(edge.producer), view.registers(edge.consumer)
        if closed:
            producers, consumers = view.related(edge)
        for key in producers:
            self._produces[key] = self._produces.get(key, 0) | bit
            traits = self._distinct[key]
            assert traits is not None
            graded = one.by_grade is not None and not edge.required_field
            needed = one.needed(traits.grade, traits) if graded else most
            if needed > self.ahead.get(key, 0):
                self.ahead[key] = needed
        for key in consumers:
            self._consumes[key] = self._consumes.get(key, 0) | bit
            if most > self.behind.get(key, 0):
                self.behind[key] = most

    def between(self, producer: int, consumer: int) -> int:
        """Wait states that must lie between two texts that may need some."""
        if producer in self.unknown:
            return self.behind[consumer]
        if consumer in self.unknown:
            return self.ahead[producer]
        known = self._pairs.get((producer, consumer))
        if known is None:
            known = self._pairs[producer, consumer] = self._between(producer, consumer)
        return known

    def _between(self, producer: int, consumer: int) -> int:
        first, second = self._distinct[producer], self._distinct[consumer]
        assert first is not None and second is not None
        common = self._produces[producer] & self._consumes[consumer]
        most = 0
        while common:
            low = common & -common
            common ^= low
            one = self._edges[low.bit_length() - 1]
            writes, reads = first.nodes[one.edge.producer], second.nodes[one.edge.consumer]
            if one.related(writes, reads, first.opcode == second.opcode):
                most = max(most, one.needed(first.grade, second))
        return most


def _most(one: DistanceEdge) -> int:
    """The most wait states that an edge asks for."""
    if one.edge.required_field:
        return _FIELD_MOST
    return max(one.by_grade.values(), default=0) if one.by_grade is not None else one.constant


def _counts_wait_states(edge: Edge) -> bool:
    """True for an edge that more wait states satisfy."""
    if edge.kind != "distance" or edge.unit != "wait_states":
        return False
    return bool(edge.required_field) or (edge.required is not None and edge.required != UNBOUNDED)


def _is_unknown(decoded: Decoded | None) -> bool:
    return decoded is None or decoded.is_call or decoded.has_indexed


def _is_closed(view: FunctionView) -> bool:
    """True when control comes from nowhere but a new wave, in which nothing ran before, and goes nowhere else."""
    return view.function.is_kernel and not any(
        enters_from_elsewhere(view, number) or leaves_to_elsewhere(view, number) for number in range(len(view.blocks))
    )


def enters_from_elsewhere(view: FunctionView, number: int) -> bool:
    """True when code that is not seen may run before a block."""
    if number == 0:
        return not view.function.is_kernel
    return not view.blocks[number].predecessors


def leaves_to_elsewhere(view: FunctionView, number: int) -> bool:
    """True when code that is not seen may run behind a block."""
    block = view.blocks[number]
    if block.leaves or block.falls_off:
        return True
    last = view.texts[view.keys[block.end - 1]] if block.end > block.first else None
    return not block.successors and not (last is not None and last.base.startswith("s_endpgm"))
