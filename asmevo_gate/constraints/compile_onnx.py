"""Compile the distance edges of a constraint graph to an ONNX model that judges a whole kernel at once.

The model's constants are the graph: required distances, relations, what clears an edge. Its inputs are columns (see
:mod:`asmevo_gate.constraints.edge_columns`): for each place of the paths the number of its distinct instruction, and
for each distinct instruction its bits and registers. Producers are found by rank, not by scanning: the *d*-th last
producer before a consumer is one gather. Needs the package ``onnx``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from asmevo_gate.constraints.edge_plan import FAR, EdgePlan, Group, plan, stops_of
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.graph_digest import graph_digest
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.isa.targets import find_target, target_names

_OPSET = 18
_NEVER = 1 << 60
"""Further away than any place."""
_RELATIONS = {"any": 0, "overlap": 1, "same_tuple": 2, "partial_tuple": 3}
_OPCODES = {"any": 0, "same": 1, "other": 2}


def compile_graph(graph: ConstraintGraph) -> bytes:
    """The model, serialised. Its metadata hold the digest of the graph and the edges in the order of their numbers."""
    content: bytes = _Compiler(graph).model().SerializeToString()
    return content


class _Compiler:
    """Writes the nodes of the model one after the other."""

    def __init__(self, graph: ConstraintGraph) -> None:
        self._graph = graph
        self._plan: EdgePlan = plan(graph)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names: dict[bytes, str] = {}

    def model(self) -> Any:
        """The whole model."""
        edge_plan = self._plan
        parts: dict[str, list[str]] = {name: [] for name in ("consumer", "producer", "edge", "found", "needed")}
        sums = self._running_sums()
        first_edge = 0
        for number, group in enumerate(edge_plan.groups):
            for name, value in self._group(number, group, first_edge, sums).items():
                parts[name].append(value)
            first_edge += len(group.edges)
        outputs = []
        for name, values in parts.items():
            joined = self._op("Concat", *values, axis=0) if values else self._constant(np.zeros(0, np.int64))
            self._nodes.append(helper.make_node("Identity", [joined], [name]))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, ["found"]))
        graph = helper.make_graph(self._nodes, self._graph.name, self._inputs(), outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
        model.producer_name = "asmevo-gate"
        edges = [edge_id for group in edge_plan.groups for edge_id in group.edges]
        for key, value in (("digest", graph_digest(self._graph)), ("edges", "\n".join(edges))):
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.checker.check_model(model)
        return model

    def _inputs(self) -> list[Any]:
        shapes: dict[str, list[str | int]] = {
            "place": ["places"], "segment": ["places"], "judged": ["places"], "opcode": ["distinct"],
            "grade": ["distinct"], "stop": ["distinct", 1 + len(self._plan.stops)],
            "weight": ["distinct", len(self._plan.units)], "through": ["distinct", max(1, len(self._plan.throughs))],
            "field": ["distinct", max(1, len(self._plan.fields))],
            "producer_bits": ["distinct", len(self._plan.groups)],
            "consumer_bits": ["distinct", len(self._plan.groups)],
            "producer_blur": ["distinct", len(self._plan.groups)],
            "consumer_blur": ["distinct", len(self._plan.groups)],
            "row": [len(self._plan.nodes), "distinct"], "registers": ["rows", "words"],
        }  # fmt: skip
        return [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in shapes.items()]

    # What every group needs: how much of each unit, of each stop and each class lies before a place.

    def _running_sums(self) -> dict[str, str]:
        """Columns over the places: ``NAME`` before the place and ``NAME+`` with the place itself."""
        found: dict[str, str] = {}
        columns: list[tuple[str, str, int]] = [(f"unit {unit}", "weight", i) for i, unit in enumerate(self._plan.units)]
        columns += [(f"stop {i}", "stop", i) for i in range(1 + len(self._plan.stops))]
        columns += [(f"through {name}", "through", i) for i, name in enumerate(self._plan.throughs)]
        axis = self._constant(np.int64(0))
        for name, table, column in columns:
            values = self._at("place", table, column)
            found[name] = self._op("CumSum", values, axis, exclusive=1)
            found[f"{name}+"] = self._op("Add", found[name], values)
        # Distances with the segments far apart, so that one comparison tells near and in the same segment.
        apart = self._op("Mul", "segment", self._constant(np.int64(FAR)))
        for unit in sorted({group.unit for group in self._plan.groups}):
            for suffix in ("", "+"):
                found[f"apart {unit}{suffix}"] = self._op("Add", found[f"unit {unit}{suffix}"], apart)
        return found

    def _at(self, places: str, table: str, column: int) -> str:
        """One column of a table over distinct instructions, at some places."""
        one = self._op("Gather", table, self._constant(np.int64(column)), axis=1)
        return self._op("Gather", one, places)

    def _group(self, number: int, group: Group, first_edge: int, sums: dict[str, str]) -> dict[str, str]:
        """Candidates of a group: for each instruction of the rarer side the nearest ones of the other side, as far
        as the reach goes, whose blurred registers meet."""
        zero = self._constant(np.int64(0))
        axis = self._constant(np.int64(0))
        producer_bits = self._at("place", "producer_bits", number)
        consumer_bits = self._op("Mul", self._at("place", "consumer_bits", number), "judged")
        is_producer = self._op("Not", self._op("Equal", producer_bits, zero))
        is_consumer = self._op("Not", self._op("Equal", consumer_bits, zero))
        producers, consumers = self._indices(is_producer), self._indices(is_consumer)
        before, after = sums[f"apart {group.unit}"], sums[f"apart {group.unit}+"]
        far = self._constant(np.full(1, _NEVER, np.int64))
        if group.from_producer:
            rare, common, flag = producers, consumers, is_consumer
            rare_at = self._op("Gather", after, rare)
            common_at = self._op("Concat", self._op("Gather", before, common), far, axis=0)
            rare_blur, common_blur = "producer_blur", "consumer_blur"
        else:
            rare, common, flag = consumers, producers, is_producer
            rare_at = self._op("Gather", before, rare)
            common_at = self._op("Concat", self._op("Neg", far), self._op("Gather", after, common), axis=0)
            rare_blur, common_blur = "consumer_blur", "producer_blur"
        # The rank of an instruction of the rarer side among those of the other side; one entry is padding.
        flags = self._op("Cast", flag, to=TensorProto.INT64)
        # An instruction is not its own neighbour: ranks from the consumer side count what lies before it, ranks
        # from the producer side what lies up to and with it.
        rank = self._op("Gather", self._op("CumSum", flags, axis, exclusive=0 if group.from_producer else 1), rare)
        blur_r = self._at(self._op("Gather", "place", rare), rare_blur, number)
        blur_c = self._at(self._op("Gather", "place", common), common_blur, number)
        nothing = self._constant(np.zeros(1, np.int64))
        blur_c = self._op("Concat", *((blur_c, nothing) if group.from_producer else (nothing, blur_c)), axis=0)
        entries = self._op("Sub", self._op("Size", common_at), self._constant(np.int64(1)))
        reach = self._constant(np.int64(group.reach))
        pairs_r: list[str] = []
        pairs_c: list[str] = []
        for step in range(group.reach):
            if group.from_producer:
                index = self._op("Min", self._op("Add", rank, self._constant(np.int64(step))), entries)
                distance = self._op("Sub", self._op("Gather", common_at, index), rare_at)
            else:
                index = self._op("Max", self._op("Sub", rank, self._constant(np.int64(step))), zero)
                distance = self._op("Sub", rare_at, self._op("Gather", common_at, index))
            meet = self._op("BitwiseAnd", blur_r, self._op("Gather", blur_c, index))
            apart = self._op("Or", self._op("Equal", meet, zero), self._op("Not", self._op("Less", distance, reach)))
            chosen = self._indices(self._op("Not", apart))
            pairs_r.append(self._op("Gather", rare, chosen))
            pairs_c.append(self._op("Gather", index, chosen))
        rares = self._op("Concat", *pairs_r, axis=0) if len(pairs_r) > 1 else pairs_r[0]
        index = self._op("Concat", *pairs_c, axis=0) if len(pairs_c) > 1 else pairs_c[0]
        if not group.from_producer:
            index = self._op("Sub", index, self._constant(np.int64(1)))
        commons = self._op("Gather", common, index)
        producer, consumer = (rares, commons) if group.from_producer else (commons, rares)
        return self._judge(group, first_edge, sums, producer, consumer, producer_bits, consumer_bits)

    def _judge(
        self, group: Group, first_edge: int, sums: dict[str, str], producer: str, consumer: str,
        producer_bits: str, consumer_bits: str,
    ) -> dict[str, str]:  # fmt: skip
        """From pairs of places to broken edges: expand the common bits, then one condition after the other."""
        edges = [self._graph.edges[edge_id] for edge_id in group.edges]
        one = np.int64(1)
        both = self._op(
            "BitwiseAnd", self._op("Gather", producer_bits, producer), self._op("Gather", consumer_bits, consumer)
        )
        masks = self._constant(np.array([[one << i for i in range(len(edges))]], np.int64))
        expanded = self._op("BitwiseAnd", self._op("Unsqueeze", both, self._constant(np.array([1], np.int64))), masks)
        hits = self._op("NonZero", expanded)
        row = self._op("Gather", hits, self._constant(np.int64(0)), axis=0)
        state = {
            "edge": self._op("Gather", hits, self._constant(np.int64(1)), axis=0),
            "producer": self._op("Gather", producer, row),
            "consumer": self._op("Gather", consumer, row),
        }
        state = self._distances(group, edges, sums, state)
        state = self._between(edges, sums, state)
        state = self._registers(edges, state)
        first = self._constant(np.int64(first_edge))
        return {**state, "edge": self._op("Add", state["edge"], first)}

    def _distances(
        self, group: Group, edges: list[Edge], sums: dict[str, str], state: dict[str, str]
    ) -> dict[str, str]:
        """Keep what is nearer than required; adds ``found`` and ``needed``."""
        found = self._difference(sums, f"unit {group.unit}", state)
        table = np.zeros((len(edges), len(self._plan.grades)), np.int64)
        for number, edge in enumerate(edges):
            for column, name in enumerate(self._plan.grades):
                required = edge.required
                table[number, column] = required.get(name, 0) if isinstance(required, dict) else required or 0
        grade = self._op("Gather", "grade", self._op("Gather", "place", state["producer"]))
        flat = self._op("Add", self._op("Mul", state["edge"], self._constant(np.int64(table.shape[1]))), grade)
        needed = self._op("Gather", self._constant(table.reshape(-1)), flat)
        for number, name in enumerate(self._plan.fields):
            uses = np.array([edge.required_field == name for edge in edges])
            if uses.any():
                value = self._at(self._op("Gather", "place", state["consumer"]), "field", number)
                needed = self._op("Where", self._op("Gather", self._constant(uses), state["edge"]), value, needed)
        state = {**state, "found": found, "needed": needed}
        keep = self._op("Less", found, needed)
        for unit in sorted({unit for edge in edges for unit in edge.below}):
            limits = self._constant(np.array([edge.below.get(unit, FAR) for edge in edges], np.int64))
            near = self._op(
                "Less", self._difference(sums, f"unit {unit}", state), self._op("Gather", limits, state["edge"])
            )
            keep = self._op("And", keep, near)
        return self._keep(state, keep)

    def _between(self, edges: list[Edge], sums: dict[str, str], state: dict[str, str]) -> dict[str, str]:
        """Drop what is cleared in between, or lacks what must lie in between."""
        zero = self._constant(np.int64(0))
        # Stop 0 is a call, behind which no edge is followed.
        keep = self._op("Equal", self._difference(sums, "stop 0", state), zero)
        for number, classes in enumerate(self._plan.stops, 1):
            uses = np.array([stops_of(edge) == classes for edge in edges])
            if uses.any():
                clear = self._op("Equal", self._difference(sums, f"stop {number}", state), zero)
                unused = self._op("Gather", self._constant(~uses), state["edge"])
                keep = self._op("And", keep, self._op("Or", clear, unused))
        for name in self._plan.throughs:
            uses = np.array([edge.through == name for edge in edges])
            if uses.any():
                there = self._op("Greater", self._difference(sums, f"through {name}", state), zero)
                unused = self._op("Gather", self._constant(~uses), state["edge"])
                keep = self._op("And", keep, self._op("Or", there, unused))
        return self._keep(state, keep)

    def _registers(self, edges: list[Edge], state: dict[str, str]) -> dict[str, str]:
        """Keep what has the relation of the edge between its registers and opcodes."""
        nodes = {name: number for number, name in enumerate(self._plan.nodes)}
        place_p = self._op("Gather", "place", state["producer"])
        place_c = self._op("Gather", "place", state["consumer"])
        masks: list[str] = []
        for place, names in (
            (place_p, [edge.producer for edge in edges]),
            (place_c, [edge.consumer for edge in edges]),
        ):
            node = self._op(
                "Gather", self._constant(np.array([nodes[name] for name in names], np.int64)), state["edge"]
            )
            pair = self._op("Concat", self._column(node), self._column(place), axis=1)
            masks.append(self._op("Gather", "registers", self._op("GatherND", "row", pair)))
        zero = self._constant(np.int64(0))
        common = self._op("Not", self._op("Equal", self._op("BitwiseAnd", *masks), zero))
        overlap = self._any(common)
        differ = self._any(self._op("Not", self._op("Equal", *masks)))
        same = self._op("Not", differ)
        kind = self._op(
            "Gather", self._constant(np.array([_RELATIONS[e.relation] for e in edges], np.int64)), state["edge"]
        )
        keep = self._op("Or", overlap, self._op("Equal", kind, zero))
        wrong = self._op("And", self._op("Equal", kind, self._constant(np.int64(2))), differ)
        wrong = self._op("Or", wrong, self._op("And", self._op("Equal", kind, self._constant(np.int64(3))), same))
        equal = self._op("Equal", self._op("Gather", "opcode", place_p), self._op("Gather", "opcode", place_c))
        opcode = self._op(
            "Gather", self._constant(np.array([_OPCODES[e.opcode] for e in edges], np.int64)), state["edge"]
        )
        needs_same = self._op("Equal", opcode, self._constant(np.int64(1)))
        needs_other = self._op("Equal", opcode, self._constant(np.int64(2)))
        wrong = self._op("Or", wrong, self._op("And", needs_same, self._op("Not", equal)))
        wrong = self._op("Or", wrong, self._op("And", needs_other, equal))
        return self._keep(state, self._op("And", keep, self._op("Not", wrong)))

    # Small helpers of the model's language.

    def _difference(self, sums: dict[str, str], name: str, state: dict[str, str]) -> str:
        """How much lies strictly between producer and consumer."""
        before = self._op("Gather", sums[name], state["consumer"])
        return self._op("Sub", before, self._op("Gather", sums[f"{name}+"], state["producer"]))

    def _by_edge(self, values: list[int], state: dict[str, str]) -> str:
        """A constant of each edge, for each candidate."""
        return self._op("Gather", self._constant(np.array(values, np.int64)), state["edge"])

    def _keep(self, state: dict[str, str], condition: str) -> dict[str, str]:
        chosen = self._indices(condition)
        return {name: self._op("Gather", value, chosen) for name, value in state.items()}

    def _any(self, condition: str) -> str:
        """For each row, whether any word is true."""
        numbers = self._op("Cast", condition, to=TensorProto.INT32)
        most = self._op("ReduceMax", numbers, self._constant(np.array([1], np.int64)), keepdims=0)
        return self._op("Cast", most, to=TensorProto.BOOL)

    def _indices(self, values: str) -> str:
        """Indices of the entries of a column that are true or not zero."""
        return self._op("Reshape", self._op("NonZero", values), self._constant(np.array([-1], np.int64)))

    def _column(self, values: str) -> str:
        return self._op("Unsqueeze", values, self._constant(np.array([1], np.int64)))

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        key = str(array.dtype).encode() + str(array.shape).encode() + array.tobytes()
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"c{len(self._constants)}"
            self._constants.append(numpy_helper.from_array(array, name))
        return name

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name


def write_shipped(directory: Path) -> list[Path]:
    """Compile the newest graph of every target into ``directory`` (``python -m asmevo_gate.constraints.compile_onnx
    constraints/compiled``); what is shipped beside the data. Returns the files written."""
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name in target_names():
        graph = graph_for(find_target(name))
        path = directory / f"{graph.name}.onnx"
        path.write_bytes(compile_graph(graph))
        written.append(path)
    return written


if __name__ == "__main__":
    for path in write_shipped(Path(sys.argv[1])):
        print(path)
