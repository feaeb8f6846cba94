"""The ONNX engine: the compiled graph over the whole kernel at once, with the same violations as the reference.

Bounded distance edges run in onnxruntime; edges of other kinds, which few instructions take part in, are evaluated
by the evaluators of the reference engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asmevo_gate.constraints.compiled_graph import compiled_graph
from asmevo_gate.constraints.distance import DistanceEdge, violation, worst_producer
from asmevo_gate.constraints.edge_columns import DistinctTables, stream_of
from asmevo_gate.constraints.edge_plan import EdgePlan, plan
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.path_streams import TooManyPaths
from asmevo_gate.constraints.reference import evaluate
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.program.columns import columns_of
from asmevo_gate.program.model import Function


class Broken(NamedTuple):
    """One broken edge as the model reports it: instruction numbers and distances."""

    consumer: int
    edge_id: str
    producer: int
    found: int
    needed: int


class CompiledGraph:
    """A graph with its session."""

    def __init__(self, graph: ConstraintGraph, model: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Optimising the model costs more than it gains: it is made of cheap element-wise steps.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.graph = graph
        self.plan: EdgePlan = plan(graph)
        self.edges: list[str] = self._session.get_modelmeta().custom_metadata_map["edges"].split("\n")

    def broken(self, function: Function, view: FunctionView) -> list[Broken]:
        """Each consumer and edge with the worst producer, in order.

        Raises:
            TooManyPaths: the control flow has too many paths to list.
        """
        if not self.plan.groups or not function.instructions:
            return []
        columns = columns_of(view.keys, view.texts)
        tables = DistinctTables(self.plan, self.graph, view.matcher, columns.distinct)
        stream = stream_of(function, self.plan, columns, tables)
        inputs = {
            "place": columns.number[stream.place], "segment": stream.segment, "judged": stream.judged,
            "opcode": tables.opcode, "grade": tables.grade, "stop": tables.stop, "weight": tables.weight,
            "through": tables.through, "field": tables.field, "producer_bits": tables.producer_bits,
            "consumer_bits": tables.consumer_bits, "producer_blur": tables.producer_blur,
            "consumer_blur": tables.consumer_blur, "row": tables.row, "registers": tables.registers,
        }  # fmt: skip
        known = {one.name for one in self._session.get_inputs()}
        names = ["consumer", "producer", "edge", "found", "needed"]
        inputs = {name: value for name, value in inputs.items() if name in known}
        consumer, producer, edge, found, needed = self._session.run(names, inputs)
        if not len(edge):
            return []
        consumer, producer = stream.place[consumer], stream.place[producer]
        # Worst first within a consumer and edge: most units missing, then nearest, then last in the program.
        order = np.lexsort((-producer, found, found - needed, edge, consumer))
        first = np.ones(len(order), bool)
        key = consumer[order] * len(self.edges) + edge[order]
        first[1:] = key[1:] != key[:-1]
        return [
            Broken(int(consumer[i]), self.edges[int(edge[i])], int(producer[i]), int(found[i]), int(needed[i]))
            for i in order[first].tolist()
        ]


_sessions: dict[int, CompiledGraph] = {}


def compiled(graph: ConstraintGraph, cache: Path | None = None) -> CompiledGraph:
    """The session of a graph; one per graph object.

    Raises:
        EngineUnavailable: neither a compiled graph nor the means to compile one is there.
    """
    known = _sessions.get(id(graph))
    if known is None or known.graph is not graph:
        known = _sessions[id(graph)] = CompiledGraph(graph, compiled_graph(graph, cache))
    return known


def violations(
    function: Function, constraints: ConstraintGraph, profiles: frozenset[str] = frozenset(), cache: Path | None = None
) -> list[HazardViolation]:
    """All violations of a function, the same as :func:`asmevo_gate.constraints.reference.violations`.

    Raises:
        EngineUnavailable: see :func:`compiled`.
    """
    return violations_of(FunctionView(function, constraints), compiled(constraints, cache), profiles)


def violations_of(view: FunctionView, session: CompiledGraph, profiles: frozenset[str]) -> list[HazardViolation]:
    """The same on a view that exists already."""
    try:
        broken = session.broken(view.function, view)
    except TooManyPaths:
        return evaluate(view, profiles)
    found: list[HazardViolation] = []
    edges = view.graph.edges
    for one in broken:
        edge = edges[one.edge_id]
        if not view.active(edge, profiles):
            continue
        # The model does not know of results that a newer one replaces; the walk decides, and adds the path.
        walked = DistanceEdge(one.edge_id, edge, view)
        worst = worst_producer(view, walked, one.consumer)
        if worst is not None:
            found.append(violation(view, walked, one.consumer, worst))
    found.extend(evaluate(view, profiles, edge_ids=frozenset(session.plan.others)))
    found.sort(key=lambda one: (one.consumer.index, one.edge_id))
    return found
