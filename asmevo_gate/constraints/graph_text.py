"""An edge of the constraint graph for people (``asmevo-gate graph show RULE``)."""

from __future__ import annotations

from asmevo_gate.constraints.explanation import counted
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.errors import UsageError


def rule_ids(graph: ConstraintGraph) -> tuple[str, ...]:
    """Every rule of a graph, sorted."""
    return tuple(sorted({edge.rule for edge in graph.edges.values()}))


def show(rule: str, graph: ConstraintGraph) -> str:
    """All edges of a rule as text.

    Raises:
        UsageError: the graph has no such rule; the message names similar ones.
    """
    edges = {edge_id: edge for edge_id, edge in graph.edges.items() if rule in (edge_id, edge.rule)}
    if not edges:
        off = graph.disabled.get(rule)
        if off is not None:
            raise UsageError(f"rule '{rule}' is switched off in {graph.name}: {off}")
        family = rule.split(".")[0]
        similar = [one for one in rule_ids(graph) if one.startswith(family)] or list(rule_ids(graph))
        raise UsageError(f"{graph.name} has no rule '{rule}'", f"its rules: {', '.join(similar)}")
    return "\n\n".join(_edge_text(edge_id, edge, graph) for edge_id, edge in edges.items())


def _edge_text(edge_id: str, edge: Edge, graph: ConstraintGraph) -> str:
    def title(node: str) -> str:
        return graph.nodes[node].title if node in graph.nodes else node

    lines = [f"{edge_id} ({edge.severity}, confidence {edge.confidence})", f"  {edge.title}"]
    if edge.steps:
        lines += [f"  step {number}:   {title(step)}" for number, step in enumerate(edge.steps, 1)]
    if edge.producer:
        lines.append(f"  producer: {title(edge.producer)}")
    if edge.consumer:
        lines.append(f"  consumer: {title(edge.consumer)}")
    lines.append(f"  relation: {edge.relation}" + (f", {edge.opcode} opcode" if edge.opcode != "any" else ""))
    lines.append(f"  distance: {_distance(edge)}")
    clears = [graph.classes[name].title for name in edge.cleared_by]
    if edge.cleared_by_field:
        clears.append(f"a wait for {edge.cleared_by_field}")
    if clears:
        lines.append(f"  cleared:  {'; '.join(clears)}")
    for name, value in (("wave", edge.wave), ("state", edge.state), ("profile", edge.profile)):
        if value:
            lines.append(f"  only:     {name} {value}")
    lines += [f"  why:      {edge.explanation}", f"  repair:   {edge.repair}"]
    if edge.llvm:
        lines.append(f"  LLVM:     {edge.llvm}")
    if edge.over_conservative:
        lines.append(f"  not reported: {edge.over_conservative}")
    if edge.missed_by:
        lines.append(f"  missed by: {edge.missed_by}")
    if edge.conflict:
        lines.append(f"  conflict: {edge.conflict}")
    lines += [f"  source:   {graph.sources.get(source, source)}" for source in edge.source]
    return "\n".join(lines)


def _distance(edge: Edge) -> str:
    if edge.kind == "directly_before":
        return "directly before"
    if edge.required_field:
        return f"the consumer's {edge.required_field}, in {counted(2, edge.unit).removeprefix('2 ')}"
    if isinstance(edge.required, dict):
        return ", ".join(f"{grade}: {counted(number, edge.unit)}" for grade, number in edge.required.items())
    if edge.required is None:
        return "none is enough"
    return counted(edge.required, edge.unit)
