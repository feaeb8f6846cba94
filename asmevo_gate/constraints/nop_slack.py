"""``s_nop`` instructions that are longer than any hazard around them needs.

One ``s_nop`` with N wait states, a producer ``before`` wait states ahead of it and a consumer ``behind`` wait states
after it: the pair needs ``required - before - behind`` of the N. What the largest pair on any path leaves is slack.
Clears, limits and modes of an edge are ignored, and so is everything that a second pass through the same ``s_nop``
would add, so that a need is never taken for smaller than it is. The ``s_nop``s are shortened one after the other,
each on top of the advice before it: no step breaks an edge that held, so that all advice can be followed together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from asmevo_gate.constraints.distance import DistanceEdge
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.matching import Traits
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.violation import UNBOUNDED
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Function, Instruction

_STEPS_PER_INSTRUCTION = 60
"""Work limit, in steps per instruction of the function: what is not looked at gets no advice."""

_UNKNOWN = -1
"""Stands for code that is not seen: a caller or callee, an instruction without a meaning, registers by index."""

_FIELD_MOST = 15
"""The largest distance that a consumer can ask for in a field of its own."""

_REMAPS_REGISTERS = ("s_set_gpr_idx", "s_set_vgpr_msb")
"""Behind these a register name is not the register, in ways that the text of an instruction does not show."""

_SETTLES = ("s_setreg", "s_setvskip", "s_icache_inv", "s_trap", "s_rfe")
"""Their effect takes time that no edge states in full (AMD ISA guides, S_ICACHE_INV: 16 separate s_nop behind it)."""
_SETTLING = 16
_CLAUSE = 63
"""Instructions that one s_clause covers at most: removing one would draw the next into the clause."""
_DELAY = 6
"""Instructions within which s_delay_alu counts, and s_getpc_b64 is used with a written distance."""


@dataclass(frozen=True, slots=True)
class NopSlack:
    """An ``s_nop`` of ``count`` wait states of which ``enough`` (0: none, it can go) keep every hazard apart."""

    nop: Instruction
    count: int
    enough: int


def nop_slack(
    function: Function, graph: ConstraintGraph, profiles: frozenset[str] = frozenset()
) -> tuple[NopSlack, ...]:
    """The ``s_nop``s of a function that may be shorter, in program order; all advice holds together.

    Nothing is said of an ``s_nop`` that comes from a macro, ends a function or stands right before a call, pads a loop
    head, or has an instruction near that needs time for its own effect; nor in functions that remap register names or
    change a mode that hazards depend on.
    """
    if not any(one.decoded is not None and one.decoded.base == "s_nop" for one in function.instructions):
        return ()
    view = FunctionView(function, graph)
    texts = {key: one.decoded for key, one in dict(zip(view.keys, function.instructions, strict=True)).items()}
    return () if _is_unclear(view, texts) else tuple(_Shortening(view, texts, profiles).advice())


def _is_unclear(view: FunctionView, texts: dict[int, Decoded | None]) -> bool:
    """True when register names are remapped, or a mode is entered that edges depend on."""
    modes = 0
    for state in view.graph.states.values():
        modes |= view.matcher.class_mask((state.set_by,))
    return any(
        decoded.base.startswith(_REMAPS_REGISTERS) or (modes and view.matcher.traits(decoded).classes & modes)
        for decoded in texts.values()
        if decoded is not None
    )


class _Bounds(NamedTuple):
    """Edges (bit sets of positions) that texts with the same nodes and grade are in, and what they may need at most."""

    produces: int
    consumes: int
    ahead: int
    behind: int


class _Needs:
    """How many wait states a producer text and a consumer text of one function need between them."""

    def __init__(self, view: FunctionView, texts: dict[int, Decoded | None], profiles: frozenset[str]) -> None:
        self._edges = [
            DistanceEdge(edge_id, edge, view)
            for edge_id, edge in view.graph.edges.items()
            if _counts_wait_states(edge) and view.active(edge, profiles)
        ]
        self.reach = max((_edge_most(edge) for edge in self._edges), default=0)
        self._traits: list[Traits] = []
        self._bounds: list[_Bounds] = []
        same: dict[tuple[str, ...], _Bounds] = {}
        numbers: dict[int, int] = {}
        for key, decoded in texts.items():
            if decoded is None or decoded.is_call or decoded.has_indexed or decoded.base.startswith(_SETTLES):
                numbers[key] = _UNKNOWN
                continue
            traits = view.matcher.traits(decoded)
            alike = (traits.grade, *traits.nodes)
            bounds = same.get(alike)
            if bounds is None:
                bounds = same[alike] = self._bounds_of(traits)
            numbers[key] = len(self._traits)
            self._traits.append(traits)
            self._bounds.append(bounds)
        self.of: list[int] = list(map(numbers.__getitem__, view.keys))
        """Instruction -> number of its text, ``_UNKNOWN`` where what it does is not known."""
        # The last of each list is found at index -1: unknown code.
        self.ahead = [*(one.ahead for one in self._bounds), self.reach]
        """Text -> what it may need before any consumer at all."""
        self.behind = [*(one.behind for one in self._bounds), self.reach]
        """Text -> what it may need behind any producer at all."""
        self._pairs: dict[tuple[int, int], int] = {}

    def _bounds_of(self, traits: Traits) -> _Bounds:
        produces = consumes = ahead = behind = 0
        for position, one in enumerate(self._edges):
            if one.edge.producer in traits.nodes:
                produces |= 1 << position
                graded = one.by_grade is not None and not one.edge.required_field
                ahead = max(ahead, one.needed(traits.grade, traits) if graded else _edge_most(one))
            if one.edge.consumer in traits.nodes:
                consumes |= 1 << position
                behind = max(behind, _edge_most(one))
        return _Bounds(produces, consumes, ahead, behind)

    def between(self, producer: int, consumer: int) -> int:
        """Wait states that must lie between two texts."""
        if producer == _UNKNOWN:
            return self.behind[consumer]
        if consumer == _UNKNOWN:
            return self.ahead[producer]
        known = self._pairs.get((producer, consumer))
        if known is None:
            known = self._pairs[producer, consumer] = self._between(producer, consumer)
        return known

    def _between(self, producer: int, consumer: int) -> int:
        first, second = self._traits[producer], self._traits[consumer]
        common = self._bounds[producer].produces & self._bounds[consumer].consumes
        most = 0
        while common:
            low = common & -common
            common ^= low
            one = self._edges[low.bit_length() - 1]
            writes, reads = first.nodes[one.edge.producer], second.nodes[one.edge.consumer]
            if one.related(writes, reads, first.opcode == second.opcode):
                most = max(most, one.needed(first.grade, second))
        return most


def _edge_most(one: DistanceEdge) -> int:
    """The most wait states that an edge asks for."""
    if one.edge.required_field:
        return _FIELD_MOST
    return max(one.by_grade.values(), default=0) if one.by_grade is not None else one.constant


def _counts_wait_states(edge: Edge) -> bool:
    """True for an edge that more wait states satisfy."""
    if edge.kind != "distance" or edge.unit != "wait_states":
        return False
    return bool(edge.required_field) or (edge.required is not None and edge.required != UNBOUNDED)


class _Shortening:
    """The pass over the ``s_nop``s. ``lengths`` are the wait states of each instruction with the advice so far."""

    def __init__(self, view: FunctionView, texts: dict[int, Decoded | None], profiles: frozenset[str]) -> None:
        self.view = view
        self.needs = _Needs(view, texts, profiles)
        self._places = _Places(view, texts)
        self._known: dict[tuple[int, ...], int] = {}
        self.lengths = [1] * len(view.keys)
        for index in self._places.of(("s_nop",)):
            self.lengths[index] = self._wait_states(index)
        self.steps = 0
        self._separates = _separating_classes(view, profiles)
        self._fixed_layout = any(_names_a_distance(decoded) for decoded in texts.values())

    def advice(self) -> Iterator[NopSlack]:
        """The advice, in program order."""
        budget = _STEPS_PER_INSTRUCTION * len(self.lengths) + 10_000
        reached = _reached_blocks(self.view)
        for index in self._places.of(("s_nop",)):
            if self.steps > budget:
                return
            count = self.lengths[index]
            if self.view.block_of[index] not in reached or not self._is_plain(index):
                continue
            enough = self._remembered(index, count)
            if not enough and not self._is_removable(index):
                enough = 1
            if enough < count:
                self.lengths[index] = enough
                yield NopSlack(self.view.function.instructions[index], count, enough)

    def _is_plain(self, index: int) -> bool:
        """True for an ``s_nop`` whose only purpose can be the hazards around it."""
        view = self.view
        instruction = view.function.instructions[index]
        decoded = instruction.decoded
        assert decoded is not None
        value = decoded.operands[0].value if decoded.operands else None
        if instruction.statement.frames or not isinstance(value, int) or not 0 <= value < view.graph.s_nop_maximum:
            return False
        block = view.blocks[view.block_of[index]]
        if all(self._base(position) == "s_nop" for position in range(index)):
            return False
        following = index + 1
        while following < block.end and self._base(following) == "s_nop":
            following += 1
        if following == block.end:
            # Padding before a loop head aligns it.
            if not block.successors or any(
                any(before >= number for before in view.blocks[number].predecessors) for number in block.successors
            ):
                return False
        elif self._ends_function(following):
            return False
        return not self._near(index, _SETTLES, _SETTLING)

    def _ends_function(self, index: int) -> bool:
        decoded = self.view.function.instructions[index].decoded
        if decoded is None or decoded.is_call:
            return True
        return bool(decoded.classes & Op.TERMINATOR) and (
            not decoded.classes & Op.BRANCH or bool(decoded.classes & Op.INDIRECT)
        )

    def _is_removable(self, index: int) -> bool:
        """True when nothing counts the instruction itself, as apart from its wait states."""
        decoded = self.view.function.instructions[index].decoded
        if self._fixed_layout or self._separates < 0 or decoded is None:
            return False
        traits = self.view.matcher.traits(decoded)
        if traits.nodes or traits.classes & self._separates:
            return False
        return not (self._near(index, ("s_clause",), _CLAUSE) or self._near(index, ("s_delay_alu", "s_getpc"), _DELAY))

    def _wait_states(self, index: int) -> int:
        decoded = self.view.function.instructions[index].decoded
        return 1 if decoded is None else self.view.matcher.traits(decoded).wait_states

    def _near(self, index: int, prefixes: tuple[str, ...], most: int) -> bool:
        """True when one of the instructions right before in the block is of this kind."""
        places = self._places.of(prefixes)
        if not places:
            return False
        first = max(self.view.blocks[self.view.block_of[index]].first, index - most)
        position = bisect_left(places, first)
        return position < len(places) and places[position] < index

    def _base(self, index: int) -> str:
        decoded = self.view.function.instructions[index].decoded
        return "" if decoded is None else decoded.base

    def _remembered(self, index: int, count: int) -> int:
        """:meth:`_needed`, once for each run of instructions: unrolled kernels repeat themselves."""
        reach = self.needs.reach
        block = self.view.blocks[self.view.block_of[index]]
        first, end = index - reach, index + reach + 1
        if first < block.first or end > block.end or 0 in (lengths := self.lengths[first:end]):
            return self._needed(index, count)
        key = (*self.needs.of[first:end], *lengths)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._needed(index, count)
        return known

    def _needed(self, index: int, count: int) -> int:
        """Wait states that the ``s_nop`` must keep, at most ``count``."""
        behind = self._consumers(index)
        if not behind:
            return 0
        needs = self.needs
        limit = max(needs.behind[consumer] - distance for distance, consumer in behind)
        most = 0
        for before, producer in self._producers(index, limit):
            largest = needs.ahead[producer] - before
            for distance, consumer in behind:
                if largest - distance <= most or needs.behind[consumer] - before - distance <= most:
                    continue
                most = max(most, needs.between(producer, consumer) - before - distance)
                if most >= count:
                    return count
            self.steps += len(behind)
        return most

    def _consumers(self, index: int) -> list[tuple[int, int]]:
        """Distance and text of what may need distance behind the ``s_nop``, over all paths."""
        view, lengths, of = self.view, self.lengths, self.needs.of
        behind, reach = self.needs.behind, self.needs.reach
        found: list[tuple[int, int]] = []
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index + 1, 0)]
        while work:
            number, first, distance = work.pop()
            block = view.blocks[number]
            for position in range(first, block.end):
                text = of[position]
                self.steps += 1
                if behind[text] > distance:
                    found.append((distance, text))
                if text == _UNKNOWN:
                    distance = reach
                elif position != index:
                    distance += lengths[position]
                if distance >= reach:
                    break
            else:
                ends_wave = block.end > block.first and self._base(block.end - 1).startswith("s_endpgm")
                if block.leaves or block.falls_off or not (block.successors or ends_wave):
                    found.append((distance, _UNKNOWN))
                for successor in block.successors:
                    if distance < entered.get(successor, reach):
                        entered[successor] = distance
                        work.append((successor, view.blocks[successor].first, distance))
        return found

    def _producers(self, index: int, reach: int) -> list[tuple[int, int]]:
        """Distance and text of what may need distance before something behind the ``s_nop``, over all paths."""
        view, lengths, of = self.view, self.lengths, self.needs.of
        ahead = self.needs.ahead
        found: list[tuple[int, int]] = []
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index - 1, 0)]
        while work:
            number, last, distance = work.pop()
            block = view.blocks[number]
            for position in range(last, block.first - 1, -1):
                text = of[position]
                self.steps += 1
                if ahead[text] > distance:
                    found.append((distance, text))
                if text == _UNKNOWN:
                    distance = reach
                elif position != index:
                    distance += lengths[position]
                if distance >= reach:
                    break
            else:
                # A kernel is entered by a new wave, in which nothing ran before.
                if not (number == 0 and view.function.is_kernel) and (number == 0 or not block.predecessors):
                    found.append((distance, _UNKNOWN))
                for predecessor in block.predecessors:
                    if distance < entered.get(predecessor, reach):
                        entered[predecessor] = distance
                        work.append((predecessor, view.blocks[predecessor].end - 1, distance))
        return found


class _Places:
    """Where instructions of a kind stand, found once per kind."""

    def __init__(self, view: FunctionView, texts: dict[int, Decoded | None]) -> None:
        self._keys = view.keys
        self._texts = texts
        self._known: dict[tuple[str, ...], list[int]] = {}

    def of(self, prefixes: tuple[str, ...]) -> list[int]:
        """Indices of the instructions whose mnemonics start with one of the prefixes, in order."""
        known = self._known.get(prefixes)
        if known is None:
            keys = {
                k for k, decoded in self._texts.items() if decoded is not None and decoded.base.startswith(prefixes)
            }
            known = [index for index, key in enumerate(self._keys) if key in keys] if keys else []
            self._known[prefixes] = known
        return known


def _reached_blocks(view: FunctionView) -> set[int]:
    """Blocks that control reaches from the entry."""
    reached: set[int] = set()
    work = [0] if view.blocks else []
    while work:
        number = work.pop()
        if number not in reached:
            reached.add(number)
            work.extend(view.blocks[number].successors)
    return reached


def _separating_classes(view: FunctionView, profiles: frozenset[str]) -> int:
    """Classes of which an instruction counts, clears or separates for some edge by being there; -1 (every class) where
    any instruction ends a clause of loads."""
    names: set[str] = set()
    for edge in view.graph.edges.values():
        if not view.active(edge, profiles):
            continue
        if edge.kind == "clause":
            return -1
        names.update(edge.cleared_by, *edge.step_clears)
        names.update(view.graph.units[unit].counts for unit in (*edge.below, edge.unit) if unit != "wait_states")
        names.update(name for name in (edge.through, edge.not_through, edge.within_class) if name)
    return view.matcher.class_mask(tuple(names))


def _names_a_distance(decoded: Decoded | None) -> bool:
    """True for a branch that is written as a number of words: no instruction may be removed on the way."""
    if decoded is None or not decoded.classes & Op.BRANCH or decoded.classes & Op.INDIRECT:
        return False
    return bool(decoded.operands) and decoded.operands[-1].value is not None
