"""Pairs made from the constraint data: for each edge and each way to make it safe, exactly enough and one too few.

An edge is a run of steps, the last of which is the consumer. What makes it safe goes before one of the steps: so many
fillers of the edge's unit, or a mitigation of each class that clears the edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Literal

from asmevo_gate.constraints.distance import DistanceEdge
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.matching import Traits
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.violation import UNBOUNDED
from asmevo_gate.isa.targets import parse_target
from tests.constraints.edge_programs import texts, waits
from tests.constraints.programs import kernel

_FILL = {"wait_states": "s_nop 0", "valu": "v_nop", "valu_not_nop": "v_mov_b32 v250, 0",
         "sgpr_writes": "s_mov_b32 s97, 0", "trans": "v_exp_f32 v250, v251"}  # fmt: skip
_MOST_CHAINS = 4000

Text = tuple[str, Traits]
Branch = Literal["nothing", "counts", "saves", "spoils"]
"""A branch counts nothing, counts as one filler, is mitigation enough, or undoes the mitigation."""


@dataclass(frozen=True)
class EdgePair:
    """One edge of one target with one way to make it safe.

    ``count`` times ``line`` before step ``at`` is exactly enough, once less is too few. ``weaker`` is another line
    that looks like the mitigation and is none. ``branch`` tells what a branch right before the consumer does. An edge
    about one instruction alone has ``harmless``: the same instruction made so that it is no hazard. ``mode`` switches
    the wavefront mode on in which the edge holds. ``straight_only``: the line is a step of the edge itself, so that
    around a loop it begins another round.
    """

    gpu: str
    wave: int
    edge_id: str
    steps: tuple[str, ...]
    at: int = 0
    line: str = ""
    count: int = 0
    weaker: str = ""
    branch: Branch = "nothing"
    harmless: str = ""
    mode: str = ""
    straight_only: bool = False
    profiles: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return (
            f"{self.gpu}-w{self.wave}-{self.edge_id}-{self.steps[0].split()[0]}-{self.line.replace(' ', '_')}@{self.at}"
        )


@cache
def edge_pairs(gpu: str, wave: int) -> tuple[tuple[EdgePair, ...], tuple[str, ...]]:
    """All pairs of a target (``gfx900:xnack+``), and the edges for which none could be made, with the reason."""
    search = _Search(gpu, wave)
    pairs: list[EdgePair] = []
    without: list[str] = []
    for edge_id, edge in search.graph.edges.items():
        if not search.view.active(edge, frozenset((edge.profile,))):
            continue
        try:
            made = list(_KINDS[edge.kind](search, edge_id, edge))
        except LookupError as reason:
            without.append(f"{gpu} wave{wave} {edge_id}: {reason}")
            continue
        pairs += made
        if not made:
            without.append(f"{gpu} wave{wave} {edge_id}: no texts match its nodes")
    return tuple(pairs), tuple(without)


class _Search:
    """The texts of a target by node and by class."""

    def __init__(self, gpu: str, wave: int) -> None:
        self.gpu, self.wave = gpu, wave
        target = parse_target(gpu)
        self.graph = graph_for(target)
        self.view = FunctionView(kernel(gpu, "s_nop 0", wave), self.graph)
        self.texts = texts(target.name, wave)
        self.by_node: dict[str, list[Text]] = {}
        for one in self.texts:
            for node in one[1].nodes:
                self.by_node.setdefault(node, []).append(one)

    def member(self, name: str, edge: Edge) -> tuple[str, bool]:
        """A text of a class, and whether it is a step of the edge: one that is none where there is one, else one that
        is not the last step."""
        mask = self.view.matcher.class_mask((name,))
        steps = {edge.producer, edge.consumer, *edge.steps} if edge.relation == "any" else set()
        last = {edge.consumer, *edge.steps[-1:]}
        known = [one for one in waits(parse_target(self.gpu).name, self.wave) if one[1].classes & mask]
        known.sort(key=lambda one: (bool(one[1].nodes.keys() & steps), bool(one[1].nodes.keys() & last)))
        if not known:
            raise LookupError(f"no text in class {name}")
        text, traits = known[0]
        return text, bool(traits.nodes.keys() & steps)

    def traits(self, text: str) -> Traits:
        """What the graph sees of one of the texts."""
        return next(traits for known, traits in self.texts if known == text)

    def pair(self, edge_id: str, edge: Edge, steps: tuple[str, ...], at: int, **more: object) -> EdgePair:
        """A pair of an edge, in its mode and profile."""
        mode = ""
        if edge.state:
            mask = self.view.matcher.class_mask((self.graph.states[edge.state].set_by,))
            mode = next((text for text, traits in self.texts if traits.classes & mask), "")
            if not mode:
                raise LookupError(f"no text sets the mode {edge.state}")
        profiles = frozenset((edge.profile,)) if edge.profile else frozenset()
        return EdgePair(self.gpu, self.wave, edge_id, steps, at, mode=mode, profiles=profiles, **more)  # type: ignore[arg-type]


def _distance(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    """One pair for each grade of the producer at its distance, and one for each class that clears the edge."""
    compiled = DistanceEdge(edge_id, edge, search.view)
    seen: set[str] = set()
    for producer, consumer, needed, grade in _producers(search, compiled, edge):
        if grade in seen:
            continue
        seen.add(grade)
        between = _through(search, edge)
        steps = (producer, *between, consumer)
        at = len(steps) - 1
        if needed < UNBOUNDED:
            states = edge.unit == "wait_states"
            count = needed - sum(compiled.weight(search.traits(text)) for text in between)
            branch = "counts" if states else "nothing"
            yield search.pair(edge_id, edge, steps, at, line=_FILL[edge.unit], count=count, branch=branch)
        if len(seen) == 1:
            yield from _mitigations(search, edge_id, edge, steps)


def _producers(search: _Search, compiled: DistanceEdge, edge: Edge) -> Iterator[tuple[str, str, int, str]]:
    """Producer and consumer that make the edge, with the distance that it asks for and the producer's grade."""
    for producer, made in search.by_node.get(edge.producer, ()):
        grade = made.grade if isinstance(edge.required, dict) else ""
        for consumer, used in search.by_node.get(edge.consumer, ()):
            registers, wanted = made.nodes[edge.producer], used.nodes[edge.consumer]
            if compiled.related(registers, wanted, made.opcode == used.opcode):
                needed = compiled.needed(made.grade, used)
                if needed:
                    yield producer, consumer, needed, grade
                    break


def _through(search: _Search, edge: Edge) -> tuple[str, ...]:
    if not edge.through:
        return ()
    mask = search.view.matcher.class_mask((edge.through,))
    for text, traits in search.texts:
        if traits.classes & mask and not traits.nodes.keys() & {edge.consumer}:
            return (text,)
    raise LookupError(f"no text in class {edge.through}")


def _mitigations(search: _Search, edge_id: str, edge: Edge, steps: tuple[str, ...]) -> Iterator[EdgePair]:
    at = len(steps) - 1
    for name in edge.cleared_by:
        line, is_step = search.member(name, edge)
        yield search.pair(edge_id, edge, steps, at, line=line, count=1, weaker=_weaker(line), straight_only=is_step)
    for unit, limit in edge.below.items():
        yield search.pair(edge_id, edge, steps, at, line=_FILL[unit], count=limit)
    if edge.cleared_by_field:
        between = (*steps[:-1], *(_FILL[edge.unit],) * 2, steps[-1])
        line = f"s_wait_alu depctr_{edge.cleared_by_field}(2)"
        yield search.pair(edge_id, edge, between, len(between) - 1, line=line, count=1, weaker=line.replace("2", "3"))


def _weaker(line: str) -> str:
    """The same wait, one less strict, where the line is a wait for one field."""
    return line.replace("(0)", "(1)") if "depctr_v" in line and "vcc" not in line and line.count("(") == 1 else ""


def _chains(search: _Search, edge: Edge) -> Iterator[tuple[Text, ...]]:
    """Texts for the steps of an edge that share a register."""
    nodes = edge.steps
    candidates = [search.by_node.get(node, []) for node in nodes]
    for chain in islice(product(*candidates), _MOST_CHAINS):
        common = -1
        for node, (_, traits) in zip(nodes, chain, strict=True):
            common &= traits.nodes[node]
        if common or edge.relation == "any":
            yield chain


def _sequence(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    """For each class that makes the sequence forget a step: the class behind that step."""
    clears = [search.view.matcher.class_mask(one) for one in edge.step_clears]
    for chain in _chains(search, edge):
        cleared = any(
            traits.classes & clears[step] for later, (_, traits) in enumerate(chain[:-1]) for step in range(later)
        )
        completed = any(edge.completed_by in traits.nodes for _, traits in chain[1:]) if edge.completed_by else False
        if cleared or completed:
            continue
        steps = tuple(text for text, _ in chain)
        for step, names in enumerate(edge.step_clears):
            for name in names:
                line, is_step = search.member(name, edge)
                yield search.pair(
                    edge_id, edge, steps, step + 1, line=line, count=1, weaker=_weaker(line), straight_only=is_step
                )
        return


def _forwarding(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    """The two bounds of the edge, and each class that clears it."""
    before, change, behind, reader = (search.by_node.get(node, []) for node in edge.steps)
    for (old, first), (new, second), (text, used) in product(before, behind, reader):
        sources = used.nodes[edge.steps[3]]
        written = first.nodes[edge.steps[0]] & sources, second.nodes[edge.steps[2]] & sources
        if all(written) and not written[0] & written[1]:
            steps = (old, change[0][0], new, text)
            around, near = edge.within
            fill = _FILL[edge.unit]
            yield search.pair(edge_id, edge, steps, 3, line=fill, count=near + 1)
            yield search.pair(edge_id, edge, steps, 2, line=fill, count=around + 1)
            yield search.pair(edge_id, edge, steps, 1, line=fill, count=around + 1)
            for name in edge.cleared_by:
                line, _ = search.member(name, edge)
                yield search.pair(edge_id, edge, steps, 3, line=line, count=1, weaker=_weaker(line))
            return


def _clause(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    """Two loads of a kind, the second of which overwrites the address of the first."""
    loads = ("s_load_dwordx2 s[10:11], s[4:5], 0x0", "s_load_dwordx2 s[4:5], s[12:13], 0x0")
    if "scalar" in edge.condition:
        loads = ("s_load_b64 s[10:11], s[4:5], 0x0", "s_load_b64 s[4:5], s[12:13], 0x0")
    yield search.pair(edge_id, edge, loads, 1, line="s_nop 0", count=1, weaker=loads[0], branch="saves")
    if not edge.condition:
        loads = ("global_load_dword v9, v[10:11], off", "global_load_dword v10, v[12:13], off")
        yield search.pair(edge_id, edge, loads, 1, line="v_nop", count=1, weaker=loads[0], branch="saves")


def _directly_before(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    for consumer, _ in search.by_node.get(edge.consumer, [])[:1]:
        line, _ = search.member(edge.within_class, edge)
        weaker = f"{line}\ns_mov_b32 s97, 0"
        yield search.pair(edge_id, edge, (consumer,), 0, line=line, count=1, weaker=weaker, branch="spoils")


def _directly_after(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    for consumer, _ in search.by_node.get(edge.consumer, [])[:1]:
        line, _ = search.member(edge.within_class, edge)
        yield search.pair(
            edge_id, edge, (consumer, "s_nop 0"), 1, line=line, count=1, weaker=f"s_mov_b32 s97, 0\n{line}"
        )


def _encoding(search: _Search, edge_id: str, edge: Edge) -> Iterator[EdgePair]:
    for consumer, traits in search.by_node.get(edge.consumer, [])[:1]:
        for text, other in search.texts:
            if other.opcode == traits.opcode and edge.consumer not in other.nodes:
                yield search.pair(edge_id, edge, (consumer,), 0, harmless=text)
                return


_KINDS = {"distance": _distance, "sequence": _sequence, "forwarding": _forwarding, "clause": _clause,
          "directly_before": _directly_before, "directly_after": _directly_after, "encoding": _encoding}  # fmt: skip
