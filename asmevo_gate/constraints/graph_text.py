"""An edge of the constraint graph for people (``asmevo-gate graph show RULE``)."""

from __future__ import annotations

from asmevo_gate.constraints.explanation import counted
from asmevo_gate.constraints.model import ConstraintGraph, Edge, HouseRule
from asmevo_gate.errors import UsageError


def rule_ids(graph: ConstraintGraph) -> tuple[str, ...]:
    """Every rule of a graph, house rules too, sorted."""
    return tuple(sorted({edge.rule for edge in graph.edges.values()} | {f"house.{name}" for name in graph.house}))


def show(rule: str, graph: ConstraintGraph) -> str:
    """All edges of a rule, or a house rule, as text.

    Raises:
        UsageError: the graph has no such rule; the message names similar ones.
    """
    house = graph.house.get(rule.removeprefix("house."))
    if house is not None:
        return _house_text(f"house.{rule.removeprefix('house.')}", house)
    edges = {edge_id: edge for edge_id, edge in graph.edges.items() if rule in (edge_id, edge.rule)}
    if not edges:
        off = graph.disabled.get(rule)
        if off is not None:
            raise UsageError(f"rule '{rule}' is switched off in {graph.name}: {off}")
        family = rule.split(".")[0]
        similar = [one for one in rule_ids(graph) if one.startswith(family)] or list(rule_ids(graph))
        raise UsageError(f"{graph.name} has no rule '{rule}'", f"its rules: {', '.join(similar)}")
    return "\n\n".join(_edge_text(edge_id, edge, graph) for edge_id, edge in edges.items())


def _house_text(rule: str, house: HouseRule) -> str:
    what = (
        ("forbidden", ", ".join(house.mnemonics) if house.kind == "forbidden" else ""),
        ("at most", f"{house.limit} in a row of class {house.instruction}" if house.limit else ""),
        ("behind", f"{', '.join(house.mnemonics)} stands {' or '.join(house.then)}" if house.then else ""),
        ("reserved", ", ".join(house.registers)),
    )
    return "\n".join(
        [
            f"{rule} ({house.severity}, {'on' if house.enabled else 'off unless a profile switches it on'})",
            f"  {house.title}",
            *(f"  {name + ':':<9} {text}" for name, text in what if text),
            f"  why:      {house.comment}",
        ]
    )


def _edge_text(edge_id: str, edge: Edge, graph: ConstraintGraph) -> str:
    lines = [f"{edge_id} ({edge.severity}, confidence {edge.confidence})", f"  {edge.title}"]
    lines += _nodes(edge, graph)
    lines += _condition(edge, graph)
    only = (
        ("wave", str(edge.wave or "")),
        ("state", graph.states[edge.state].title if edge.state in graph.states else edge.state),
        ("profile", edge.profile),
        ("target feature", " ".join(f"{name}{sign}" for name, sign in edge.feature.items())),
    )
    lines += [f"  only:     {name} {value}" for name, value in only if value]
    lines += [f"  why:      {edge.explanation}", f"  repair:   {edge.repair}"]
    remarks = (
        ("LLVM:    ", edge.llvm), ("not reported:", edge.over_conservative), ("missed by:", edge.missed_by),
        ("conflict:", edge.conflict),
    )  # fmt: skip
    lines += [f"  {name} {text}" for name, text in remarks if text]
    lines += [f"  source:   {graph.sources.get(source, source)}" for source in edge.source]
    return "\n".join(lines)


def _nodes(edge: Edge, graph: ConstraintGraph) -> list[str]:
    """The instructions that take part."""

    def title(node: str) -> str:
        return graph.nodes[node].title if node in graph.nodes else node

    lines = [f"  step {number}:   {title(step)}" for number, step in enumerate(edge.steps, 1)]
    if edge.producer:
        lines.append(f"  producer: {title(edge.producer)}")
    if edge.through:
        lines.append(f"  between:  at least one: {_class(edge.through, graph)}")
    if edge.consumer:
        lines.append(f"  consumer: {title(edge.consumer)}")
    if len(lines) > 1:
        lines.append(f"  relation: {edge.relation}" + (f", {edge.opcode} opcode" if edge.opcode != "any" else ""))
    return lines


def _condition(edge: Edge, graph: ConstraintGraph) -> list[str]:
    """What makes the hazard, and what ends it."""
    distance = _distance(edge, graph)
    lines = [f"  distance: {distance}"] if distance else []
    for unit, limit in edge.below.items():
        lines.append(f"  while:    fewer than {counted(limit, unit)} between")
    clears = [_class(name, graph) for name in edge.cleared_by]
    if edge.cleared_by_field:
        clears.append(f"a wait for {edge.cleared_by_field}")
    if clears:
        lines.append(f"  cleared:  {'; '.join(clears)}")
    for number, names in enumerate(edge.step_clears, 1):
        if names:
            lines.append(f"  cleared behind step {number}: {'; '.join(_class(name, graph) for name in names)}")
    if edge.completed_by:
        lines.append(f"  cleared:  {graph.nodes[edge.completed_by].title}")
    if edge.flushed_by:
        counts = ", ".join(f"{count} in wave{wave}" for wave, count in edge.flushed_in_a_row.items())
        lines.append(f"  cleared:  {_class(edge.flushed_by, graph)} so often in a row: {counts}")
    return lines


def _class(name: str, graph: ConstraintGraph) -> str:
    return (graph.classes[name].title if name in graph.classes else "") or name


def _distance(edge: Edge, graph: ConstraintGraph) -> str:
    """The distance in words; empty for an edge about one instruction alone."""
    if edge.kind == "encoding":
        return ""
    if edge.kind in ("directly_before", "directly_after"):
        return f"{edge.kind.replace('_', ' ')} it: {_class(edge.within_class, graph)}"
    if edge.kind == "clause":
        return "loads of one kind that follow each other without another instruction between"
    if edge.kind == "forwarding":
        around, behind = edge.within
        unit = counted(2, edge.unit).removeprefix("2 ")
        return f"at most {around} {unit} around step 2, and at most {behind} before step {len(edge.steps)}"
    if edge.required_field:
        return f"the consumer's {edge.required_field}, in {counted(2, edge.unit).removeprefix('2 ')}"
    if isinstance(edge.required, dict):
        return ", ".join(f"{grade}: {counted(number, edge.unit)}" for grade, number in edge.required.items())
    if edge.required is None:
        return "any, until something clears it"
    return counted(edge.required, edge.unit)
