"""Distance edges: fewer than the required units lie between producer and consumer on some path.

For a consumer, all paths are walked backwards until the required distance is reached or something clears the
hazard. The walk is the specification of these edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.matching import Traits
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.roles import whole_registers
from asmevo_gate.constraints.violation import UNBOUNDED, HazardViolation


class DistanceEdge:
    """A distance edge with its names looked up."""

    def __init__(self, edge_id: str, edge: Edge, view: FunctionView) -> None:
        matcher = view.matcher
        units = view.graph.units
        self.edge_id = edge_id
        self.edge = edge
        self.cleared_by = matcher.class_mask(edge.cleared_by)
        self.through = matcher.class_mask((edge.through,)) if edge.through else 0
        self.counts = 0 if edge.unit == "wait_states" else matcher.class_mask((units[edge.unit].counts,))
        self.below = tuple((matcher.class_mask((units[unit].counts,)), limit) for unit, limit in edge.below.items())
        self.by_grade = edge.required if isinstance(edge.required, dict) else None
        self.constant = UNBOUNDED if edge.required is None else edge.required if isinstance(edge.required, int) else 0

    def most(self, consumer: Traits) -> int:
        """The largest distance that any producer may need before this consumer."""
        if self.edge.required_field:
            return self.needed("", consumer)
        return max(self.by_grade.values(), default=0) if self.by_grade is not None else self.constant

    def needed(self, grade: str, consumer: Traits) -> int:
        """The distance that a producer of this grade needs before this consumer; 0 when it is no hazard."""
        if self.edge.required_field:
            return consumer.field(self.edge.required_field)
        return self.by_grade.get(grade, 0) if self.by_grade is not None else self.constant

    def weight(self, traits: Traits) -> int:
        """What an instruction between counts in the edge's unit."""
        if not self.counts:
            return traits.wait_states
        return 1 if traits.classes & self.counts else 0

    def related(self, producer: int, consumer: int, same_opcode: bool) -> bool:
        """True when the registers (and opcodes) of two matching instructions make the hazard."""
        edge = self.edge
        if edge.opcode != "any" and same_opcode != (edge.opcode == "same"):
            return False
        if edge.relation == "any":
            return True
        if not producer & consumer:
            return False
        if edge.relation == "overlap":
            return True
        return (producer == consumer) == (edge.relation == "same_tuple")


class Found(NamedTuple):
    """A producer that is too near, ordered so that the worst comes first."""

    missing: int
    """Negative: required minus found distance."""
    found: int
    behind: int
    """Negative index of the producer."""
    needed: int
    registers: int
    blocks: tuple[int, ...]


class _Walk(NamedTuple):
    """A path on its way back: the next instruction to look at is the one before ``position`` in ``block``."""

    block: int
    position: int
    passed: int
    cap: int
    below: tuple[int, ...]
    through: bool
    wanted: int
    """Registers of the consumer for which no newer producer has been passed."""
    blocks: tuple[int, ...]


def distance_violations(
    view: FunctionView, edge_id: str, edge: Edge, consumers: Sequence[int] | None = None
) -> list[HazardViolation]:
    """Every consumer of the edge that has a producer too near, with its worst producer; ``consumers`` restricts it to
    some of them."""
    compiled = DistanceEdge(edge_id, edge, view)
    consumers = view.matching(edge.consumer) if consumers is None else consumers
    if not consumers or edge.producer not in view.nodes:
        return []
    in_state = view.in_state(edge.state) if edge.state else None
    found: list[HazardViolation] = []
    for consumer in consumers:
        if in_state is not None and not in_state[consumer]:
            continue
        worst = worst_producer(view, compiled, consumer)
        if worst is not None:
            found.append(violation(view, compiled, consumer, worst))
    return found


def violation(view: FunctionView, compiled: DistanceEdge, consumer: int, worst: Found) -> HazardViolation:
    """The report of one producer and consumer."""
    instructions = view.function.instructions
    producer = instructions[-worst.behind]
    return HazardViolation(
        edge_id=compiled.edge_id,
        edge=compiled.edge,
        consumer=instructions[consumer],
        producer=producer,
        registers=whole_registers(worst.registers),
        found=worst.found,
        needed=None if worst.needed >= UNBOUNDED else worst.needed,
        through=(producer, instructions[consumer]),
        blocks=worst.blocks,
    )


def worst_producer(view: FunctionView, compiled: DistanceEdge, consumer: int) -> Found | None:
    """The producer that is most units too near to a consumer on any path, ``None`` when there is none."""
    reader = view.traits[consumer]
    if reader is None:
        return None
    most = compiled.most(reader)
    block = view.block_of[consumer]
    registers = reader.nodes[compiled.edge.consumer]
    start = _Walk(block, consumer, 0, most, (0,) * len(compiled.below), False, registers, (block,))
    worklist = [start]
    reached: dict[int, list[_Walk]] = {}
    worst: Found | None = None
    while worklist:
        walk = worklist.pop()
        walk, ended, worst = _walk_block(view, compiled, consumer, reader, walk, worst)
        if ended:
            continue
        for predecessor in view.blocks[walk.block].predecessors:
            end = view.blocks[predecessor].end
            entering = walk._replace(block=predecessor, position=end, blocks=(predecessor, *walk.blocks))
            if not any(_is_covered(entering, known) for known in reached.get(predecessor, ())):
                reached.setdefault(predecessor, []).append(entering)
                worklist.append(entering)
    return worst


def _is_covered(walk: _Walk, known: _Walk) -> bool:
    """True when an earlier walk into the same block finds everything that this one could."""
    return (
        known.passed <= walk.passed
        and known.cap - known.passed >= walk.cap - walk.passed
        and all(left <= right for left, right in zip(known.below, walk.below, strict=True))
        and (known.through or not walk.through)
        and not walk.wanted & ~known.wanted
    )


def _walk_block(
    view: FunctionView, compiled: DistanceEdge, consumer: int, reader: Traits, walk: _Walk, worst: Found | None
) -> tuple[_Walk, bool, Found | None]:
    """Walk back to the start of a block: the walk there, whether the path ended, and the worst producer so far."""
    edge = compiled.edge
    wanted = reader.nodes[edge.consumer]
    first = view.blocks[walk.block].first
    count, cap, below, through, open_registers = walk.passed, walk.cap, walk.below, walk.through, walk.wanted
    for index in range(walk.position - 1, first - 1, -1):
        traits = view.traits[index]
        if traits is None:
            # An instruction without a meaning is issued, but what it clears or counts is not known.
            if compiled.counts or edge.cleared_by:
                return walk, True, worst
            count += 1
            if count >= cap:
                return walk, True, worst
            continue
        registers = traits.nodes.get(edge.producer)
        if registers is not None and (through or not compiled.through):
            needed = compiled.needed(traits.grade, reader)
            if (
                count < min(needed, cap)
                and (registers & open_registers or not edge.newest_only)
                and compiled.related(registers, wanted, traits.opcode == reader.opcode)
            ):
                found = Found(count - needed, count, -index, needed, registers & wanted, walk.blocks)
                worst = found if worst is None or found[:3] < worst[:3] else worst
            if edge.newest_only:
                open_registers &= ~registers
                if not open_registers:
                    return walk, True, worst
        if traits.classes & compiled.cleared_by or view.is_call(index):
            return walk, True, worst
        count += compiled.weight(traits)
        if edge.cleared_by_field:
            cap = min(cap, count + traits.depctr.get(edge.cleared_by_field, UNBOUNDED))
        if compiled.below:
            below = tuple(
                old + (1 if traits.classes & mask else 0) for old, (mask, _) in zip(below, compiled.below, strict=True)
            )
            if any(old >= limit for old, (_, limit) in zip(below, compiled.below, strict=True)):
                return walk, True, worst
        through = through or bool(traits.classes & compiled.through)
        if count >= cap:
            return walk, True, worst
    state = walk._replace(passed=count, cap=cap, below=below, through=through, wanted=open_registers)
    return state, False, worst
