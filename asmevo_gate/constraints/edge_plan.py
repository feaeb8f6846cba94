"""How the distance edges of a graph become arrays: groups, bits, tables. Shared by the ONNX compiler, which puts the
tables into the model, and by the engine, which fills the columns.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph, Edge

FAR = 1 << 30
"""Larger than any distance."""
_MOST_EDGES = 62
"""Edges of a group: one bit of a signed 64-bit word each."""


class Group(msgspec.Struct, frozen=True):
    """Distance edges of one unit with a similar reach, evaluated together. ``reach`` is the largest distance that an
    edge of the group asks for. ``from_producer`` tells from which side candidates are looked for: from the one of
    which a kernel has fewer instructions."""

    unit: str
    reach: int
    from_producer: bool
    edges: tuple[str, ...]


class EdgePlan(msgspec.Struct, frozen=True):
    """The distance edges that are evaluated over columns, in groups, and the lists that give names their numbers."""

    groups: tuple[Group, ...]
    nodes: tuple[str, ...]
    units: tuple[str, ...]
    grades: tuple[str, ...]
    stops: tuple[tuple[str, ...], ...]
    """Sets of classes that clear an edge."""
    throughs: tuple[str, ...]
    fields: tuple[str, ...]
    """Modifiers of consumers that hold the required distance."""
    others: tuple[str, ...]
    """Edges of any kind that are evaluated one by one."""


UNKNOWN = "?"
"""Stands for instructions without a meaning among the classes that stop an edge."""


def stops_of(edge: Edge) -> tuple[str, ...]:
    """The classes that stop an edge. An instruction without a meaning stops one that counts or can be cleared."""
    if edge.unit == "wait_states" and not edge.cleared_by:
        return ()
    return (*edge.cleared_by, UNKNOWN)


def reach(edge: Edge) -> int | None:
    """The largest distance that an edge asks for; ``None`` when there is no bound."""
    if edge.kind != "distance" or edge.state or edge.cleared_by_field:
        return None
    if edge.required_field:
        return 15
    if isinstance(edge.required, dict):
        return max(edge.required.values(), default=0)
    return edge.required


_FAR_REACH = 5
_MANY = ("valu", "plain_valu", "not_trans_valu", "legacy_valu", "valu_not_nop", "vector")
"""Classes that most instructions of a kernel belong to."""


def _from_producer(graph: ConstraintGraph, edge: Edge) -> bool:
    """True when producers are the rarer side. A consumer counts at least one wait state, so that only so many lie
    within reach; in another unit it may count nothing, and candidates are looked for from the consumer."""
    if edge.unit != "wait_states":
        return False
    node = graph.nodes[edge.producer]
    return node.instruction not in _MANY or node.registers not in ("vgpr", "vector")


def plan(graph: ConstraintGraph) -> EdgePlan:
    """The plan of a graph."""
    bounded: dict[tuple[str, bool, bool, bool], list[str]] = {}
    others: list[str] = []
    for edge_id, edge in graph.edges.items():
        most = reach(edge)
        if most is None:
            others.append(edge_id)
        elif most:
            key = (edge.unit, most > _FAR_REACH, _from_producer(graph, edge), edge.relation == "any")
            bounded.setdefault(key, []).append(edge_id)
    groups: list[Group] = []
    for (unit, _, from_producer, _), edge_ids in bounded.items():
        for start in range(0, len(edge_ids), _MOST_EDGES):
            part = tuple(edge_ids[start : start + _MOST_EDGES])
            most = max(reach(graph.edges[one]) or 0 for one in part)
            groups.append(Group(unit, most, from_producer, part))
    members = [graph.edges[edge_id] for group in groups for edge_id in group.edges]
    units = {group.unit for group in groups} | {unit for edge in members for unit in edge.below}
    return EdgePlan(
        groups=tuple(groups),
        nodes=_sorted({edge.producer for edge in members} | {edge.consumer for edge in members}),
        units=("wait_states", *_sorted(units - {"wait_states"})),
        grades=("", *_sorted({g for edge in members if isinstance(edge.required, dict) for g in edge.required})),
        stops=tuple(sorted({stops_of(edge) for edge in members} - {()})),
        throughs=_sorted({edge.through for edge in members if edge.through}),
        fields=_sorted({edge.required_field for edge in members if edge.required_field}),
        others=tuple(others),
    )


def _sorted(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
