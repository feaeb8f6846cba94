"""The inputs of the compiled graph: tables over the distinct instructions of a kernel, and its stream of places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asmevo_gate.constraints.edge_plan import UNKNOWN, EdgePlan, Group
from asmevo_gate.constraints.matching import Matcher, Traits
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.path_streams import Stream, streams
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import LINE_LENGTH
from asmevo_gate.program.columns import Columns, Numbers
from asmevo_gate.program.model import Function

_WORD = 8
_BYTES = -(-2 * LINE_LENGTH // (8 * _WORD)) * _WORD


class DistinctTables:
    """Tables over distinct instructions; row 0 stands for instructions without a meaning."""

    def __init__(
        self, plan: EdgePlan, graph: ConstraintGraph, matcher: Matcher, distinct: Sequence[Decoded | None]
    ) -> None:
        self._plan = plan
        self._graph = graph
        self._matcher = matcher
        traits = [None if one is None else matcher.traits(one) for one in distinct]
        opcodes: dict[str, int] = {}
        grades = {grade: number for number, grade in enumerate(plan.grades)}
        self.opcode = np.array(
            [-1 if t is None else opcodes.setdefault(t.opcode, len(opcodes)) for t in traits], np.int64
        )
        self.grade = np.array([0 if t is None else grades.get(t.grade, 0) for t in traits], np.int64)
        self.weight = self._weights(traits)
        self.stop = self._stops(traits, distinct)
        classes = [(matcher.class_mask((name,)), 0) for name in plan.throughs]
        self.through = np.array([[_is(t, mask) for mask, _ in classes] or [0] for t in traits], np.int64)
        self.field = np.array([[t.field(name) if t else 0 for name in plan.fields] or [0] for t in traits], np.int64)
        self.producer_bits = self._bits(traits, [self._numbers(group, producers=True) for group in plan.groups])
        self.consumer_bits = self._bits(traits, [self._numbers(group, producers=False) for group in plan.groups])
        self.producer_blur = self._blur(traits, producers=True)
        self.consumer_blur = self._blur(traits, producers=False)
        self.row, self.registers = self._registers(traits)

    def _weights(self, traits: Sequence[Traits | None]) -> Numbers:
        columns: list[list[int]] = [[1 if t is None else t.wait_states for t in traits]]
        for unit in self._plan.units[1:]:
            mask = self._matcher.class_mask((self._graph.units[unit].counts,))
            columns.append([_is(t, mask) for t in traits])
        table: Numbers = np.array(columns, np.int64).T
        return table

    def _stops(self, traits: Sequence[Traits | None], distinct: Sequence[Decoded | None]) -> Numbers:
        columns = [[0 if one is None else int(bool(one.classes & Op.CALL)) for one in distinct]]
        for names in self._plan.stops:
            mask = self._matcher.class_mask(tuple(name for name in names if name != UNKNOWN))
            columns.append([1 if t is None else _is(t, mask) for t in traits])
        table: Numbers = np.array(columns, np.int64).T
        return table

    def _numbers(self, group: Group, producers: bool) -> dict[str, int]:
        """Node -> the bits of the edges of a group that it is producer (or consumer) of."""
        bits: dict[str, int] = {}
        for number, edge_id in enumerate(group.edges):
            edge = self._graph.edges[edge_id]
            node = edge.producer if producers else edge.consumer
            bits[node] = bits.get(node, 0) | 1 << number
        return bits

    def _bits(self, traits: Sequence[Traits | None], groups: list[dict[str, int]]) -> Numbers:
        known: dict[tuple[str, ...], list[int]] = {}
        rows: list[list[int]] = []
        for t in traits:
            nodes = () if t is None else tuple(t.nodes)
            row = known.get(nodes)
            if row is None:
                row = known[nodes] = [_united(bits, nodes) for bits in groups]
            rows.append(row)
        return np.array(rows, np.int64).reshape(len(traits), len(groups))

    def _blur(self, traits: Sequence[Traits | None], producers: bool) -> Numbers:
        """For each group a blurred set of the registers in its nodes: one bit for eight registers. Two sets that
        overlap have overlapping blurs. All bits are set where an edge does not ask for registers."""
        names: list[tuple[set[str], bool]] = []
        for group in self._plan.groups:
            edges = [self._graph.edges[edge_id] for edge_id in group.edges]
            nodes = {edge.producer if producers else edge.consumer for edge in edges}
            names.append((nodes, any(edge.relation == "any" for edge in edges)))
        known: dict[int, int] = {0: 0}
        rows: list[list[int]] = []
        nothing = [0] * len(names)
        for t in traits:
            if t is None:
                rows.append(nothing)
                continue
            row = []
            for nodes, everything in names:
                mask = 0
                for node, registers in t.nodes.items():
                    if node in nodes:
                        mask |= registers
                blurred = known.get(mask)
                if blurred is None:
                    blurred = known[mask] = _blurred(mask)
                row.append(-1 if everything else blurred)
            rows.append(row)
        return np.array(rows, np.int64).reshape(len(traits), len(names))

    def _registers(self, traits: Sequence[Traits | None]) -> tuple[Numbers, Numbers]:
        """For each node and distinct instruction the row of its register set; and the sets as 64-bit words."""
        rows: dict[int, int] = {0: 0}
        numbers = {name: number for number, name in enumerate(self._plan.nodes)}
        table = np.zeros((len(numbers), len(traits)), np.int64)
        for place, t in enumerate(traits):
            if t is not None:
                for node, mask in t.nodes.items():
                    number = numbers.get(node)
                    if number is not None:
                        table[number, place] = rows.setdefault(mask, len(rows))
        packed = b"".join(mask.to_bytes(_BYTES, "little") for mask in rows)
        words = np.frombuffer(packed, dtype="<i8").reshape(len(rows), -1)
        used = [0, *(np.flatnonzero(words[:, 1:].any(axis=0)) + 1).tolist()]
        return table, np.ascontiguousarray(words[:, used])


def _united(bits: dict[str, int], nodes: tuple[str, ...]) -> int:
    united = 0
    for node in nodes:
        united |= bits.get(node, 0)
    return united


def _blurred(mask: int) -> int:
    bits = 0
    while mask:
        place = ((mask & -mask).bit_length() - 1) >> 3
        bits |= 1 << place % 61
        mask &= ~(0xFF << 8 * place)
    return bits


def _is(traits: Traits | None, mask: int) -> int:
    return 1 if traits is not None and traits.classes & mask else 0


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
