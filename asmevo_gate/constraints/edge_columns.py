"""The inputs of the compiled graph: tables over the distinct instructions of a kernel, and its stream of places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from asmevo_gate.constraints.edge_plan import UNKNOWN, EdgePlan
from asmevo_gate.constraints.matching import Matcher, Traits
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.path_streams import Stream, streams
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.registers import LINE_LENGTH
from asmevo_gate.program.columns import Columns, Numbers
from asmevo_gate.program.model import Function

_T = TypeVar("_T")
_WORD = 8
_BYTES = -(-2 * LINE_LENGTH // (8 * _WORD)) * _WORD
_BLUR = 61
"""Bits of a blurred set: a signed word holds them."""


class DistinctTables:
    """Tables over distinct instructions; row 0 stands for instructions without a meaning.

    What depends on less than the whole text (its classes, the nodes that it matches) is asked once for each such part.
    Edges without a producer or without a consumer among the instructions cannot be broken: they get no bits.
    """

    def __init__(
        self, plan: EdgePlan, graph: ConstraintGraph, matcher: Matcher, distinct: Sequence[Decoded | None]
    ) -> None:
        self._plan = plan
        self._matcher = matcher
        traits = [None if one is None else matcher.traits(one) for one in distinct]
        grades = {grade: number for number, grade in enumerate(plan.grades)}
        self.opcode = _numbered(None if t is None else t.opcode for t in traits)[0] - 1
        self.grade = np.array([0 if t is None else grades.get(t.grade, 0) for t in traits], np.int64)
        self.field = np.zeros((len(traits), max(len(plan.fields), 1)), np.int64)
        for number, name in enumerate(plan.fields):
            self.field[:, number] = [t.field(name) if t else 0 for t in traits]
        of_classes, classes = _numbered(None if t is None else t.classes for t in traits)
        self.weight = np.stack(
            [
                np.array([1 if t is None else t.wait_states for t in traits], np.int64),
                *(self._in((graph.units[unit].counts,), classes)[of_classes] for unit in plan.units[1:]),
            ],
            axis=1,
        )
        calls = np.array([0 if one is None else int(one.is_call) for one in distinct], np.int64)
        self.stop = np.stack([calls, *(self._stops(names, classes)[of_classes] for names in plan.stops)], axis=1)
        through = [self._in((name,), classes)[of_classes] for name in plan.throughs]
        self.through = np.stack(through or [np.zeros(len(traits), np.int64)], axis=1)
        of_nodes, nodes = _numbered(None if t is None else tuple(t.nodes) for t in traits)
        present = {name for names in nodes if names is not None for name in names}
        self._edges: list[list[tuple[int, Edge]]] = []
        """For each group the bits of the edges that have a producer and a consumer, with the edges."""
        for group in plan.groups:
            edges = [(1 << number, graph.edges[edge_id]) for number, edge_id in enumerate(group.edges)]
            self._edges.append([(bit, edge) for bit, edge in edges if {edge.producer, edge.consumer} <= present])
        self.producer_bits = self._bits(nodes, _producer)[of_nodes]
        self.consumer_bits = self._bits(nodes, _consumer)[of_nodes]
        self.row, words = self._registers(traits, of_nodes.tolist(), nodes)
        used = [0, *(np.flatnonzero(words[:, 1:].any(axis=0)) + 1).tolist()]
        self.registers = np.ascontiguousarray(words[:, used])
        blurs = _blurred(words)
        understood = np.array([t is not None for t in traits])
        self.producer_blur = self._blur(blurs, understood, _producer)
        self.consumer_blur = self._blur(blurs, understood, _consumer)

    def _in(self, names: tuple[str, ...], classes: Sequence[int | None]) -> Numbers:
        """For each set of classes 1 where it holds one of some classes."""
        mask = self._matcher.class_mask(names)
        return np.array([0 if one is None else int(bool(one & mask)) for one in classes], np.int64)

    def _stops(self, names: tuple[str, ...], classes: Sequence[int | None]) -> Numbers:
        """The same, and 1 for what has no meaning."""
        found = self._in(tuple(name for name in names if name != UNKNOWN), classes)
        found[[one is None for one in classes]] = 1
        return found

    def _bits(self, nodes: Sequence[tuple[str, ...] | None], side: _Side) -> Numbers:
        """For each set of nodes and each group the bits of the edges that it has the producer (or consumer) of."""
        rows = [
            [sum(bit for bit, edge in edges if names is not None and side(edge) in names) for edges in self._edges]
            for names in nodes
        ]
        return np.array(rows, np.int64).reshape(len(nodes), len(self._edges))

    def _registers(
        self, traits: Sequence[Traits | None], of_nodes: Sequence[int], nodes: Sequence[tuple[str, ...] | None]
    ) -> tuple[Numbers, Numbers]:
        """For each node and distinct instruction the row of its register set; and the sets as 64-bit words."""
        asked = {side(edge) for edges in self._edges for _, edge in edges for side in (_producer, _consumer)}
        numbers = {name: number for number, name in enumerate(self._plan.nodes) if name in asked}
        of_set = [[(name, numbers[name]) for name in names or () if name in numbers] for names in nodes]
        rows: dict[int, int] = {0: 0}
        places: list[int] = []
        columns: list[int] = []
        found: list[int] = []
        for place, (t, number) in enumerate(zip(traits, of_nodes, strict=True)):
            if t is not None:
                for name, column in of_set[number]:
                    places.append(place)
                    columns.append(column)
                    found.append(rows.setdefault(t.nodes[name], len(rows)))
        table = np.zeros((len(self._plan.nodes), len(traits)), np.int64)
        table[columns, places] = found
        packed = b"".join(mask.to_bytes(_BYTES, "little") for mask in rows)
        return table, np.frombuffer(packed, dtype="<i8").reshape(len(rows), -1)

    def _blur(self, blurs: Numbers, understood: Numbers, side: _Side) -> Numbers:
        """For each group a blurred set of the registers in its nodes: one bit for eight registers. Two sets that
        overlap have overlapping blurs. All bits are set where an edge does not ask for registers."""
        numbers = {name: number for number, name in enumerate(self._plan.nodes)}
        columns: list[Numbers] = []
        for edges in self._edges:
            if any(edge.relation == "any" for _, edge in edges):
                columns.append(-understood.astype(np.int64))
            else:
                rows = self.row[[numbers[name] for name in sorted({side(edge) for _, edge in edges})]]
                columns.append(np.bitwise_or.reduce(blurs[rows], axis=0))
        return np.stack(columns, axis=1) if columns else np.zeros((len(understood), 0), np.int64)


_Side = Callable[[Edge], str]


def _producer(edge: Edge) -> str:
    return edge.producer


def _consumer(edge: Edge) -> str:
    return edge.consumer


def _numbered(values: Iterable[_T | None]) -> tuple[Numbers, list[_T | None]]:
    """Each value as the number of a distinct one, and the distinct ones; the first is ``None``."""
    numbers: dict[_T | None, int] = {None: 0}
    of_each = [numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(of_each, np.int64), list(numbers)


def _blurred(words: Numbers) -> Numbers:
    """Register sets as one word each: bit *i* for the bytes of the set with number *i* modulo 61 (a prime, so that the
    halves and banks of the register line fall on different bits)."""
    touched = words.view(np.uint8).reshape(len(words), -1) != 0
    touched = np.pad(touched, ((0, 0), (0, -touched.shape[1] % _BLUR)))
    bits: Numbers = touched.reshape(len(words), -1, _BLUR).any(axis=1) @ (1 << np.arange(_BLUR, dtype=np.int64))
    return bits


def stream_of(function: Function, plan: EdgePlan, columns: Columns, tables: DistinctTables) -> Stream:
    """The places of a function with every path that an edge of the plan can reach along.

    Raises:
        TooManyPaths: see :func:`asmevo_gate.constraints.path_streams.streams`.
    """
    units = {unit: number for number, unit in enumerate(plan.units)}
    used = sorted({units[group.unit] for group in plan.groups})
    reach = [max(group.reach for group in plan.groups if units[group.unit] == number) for number in used]
    weights = [tables.weight[columns.number, number] for number in used]
    return streams(function, weights, reach, tables.stop[columns.number, 0])
