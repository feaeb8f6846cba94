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
from itertools import chain
from typing import NamedTuple

import msgspec

from asmevo_gate.constraints.distance import DistanceEdge
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.matching import Traits
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.violation import UNBOUNDED
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Instruction

_STEPS_PER_INSTRUCTION = 8
"""Work limit, in steps per instruction of the function: what is not looked at gets no advice."""

_UNKNOWN = 0
"""Stands for code that is not seen: a caller or callee, an instruction without a meaning, registers by index."""

_FIELD_MOST = 15
"""The largest distance that a consumer can ask for in a field of its own."""

_REMAPS_REGISTERS = ("s_set_gpr_idx", "s_set_vgpr_msb")
"""Behind these a register name is not the register, in ways that the text of an instruction does not show."""

_SETTLES = ("s_setreg", "s_setvskip", "s_icache_inv", "s_trap", "s_rfe")
"""Their effect takes time that no edge states in full (AMD ISA guides, S_ICACHE_INV: 16 separate s_nop behind it)."""
_SETTLING = 16
_COVERS = ("s_clause",)
_CLAUSE = 63
"""Instructions that one s_clause covers at most: removing one would draw the next into the clause."""
_COUNTS = ("s_delay_alu", "s_getpc")
_DELAY = 6
"""Instructions within which s_delay_alu counts, and s_getpc_b64 is used with a written distance."""
_NOP = ("s_nop",)


class NopSlack(msgspec.Struct, frozen=True):
    """An ``s_nop`` of ``count`` wait states of which ``enough`` (0: none, it can go) keep every hazard apart."""

    nop: Instruction
    count: int
    enough: int


def nop_slack(view: FunctionView, profiles: frozenset[str] = frozenset()) -> tuple[NopSlack, ...]:
    """The ``s_nop``s of a function that may be shorter, in program order; all advice holds together.

    Nothing is said of an ``s_nop`` that comes from a macro, ends a function or stands right before a call, pads a loop
    head, or has an instruction near that needs time for its own effect; nor in functions that remap register names or
    change a mode that hazards depend on.
    """
    if not any(decoded is not None and decoded.base == "s_nop" for decoded in view.texts.values()) or _is_unclear(view):
        return ()
    return tuple(_Shortening(view, profiles).advice())


def _is_unclear(view: FunctionView) -> bool:
    """True when register names are remapped, or a mode is entered that edges depend on."""
    modes = 0
    for state in view.graph.states.values():
        modes |= view.matcher.class_mask((state.set_by,))
    return any(
        decoded.base.startswith(_REMAPS_REGISTERS) or (modes and view.matcher.traits(decoded).classes & modes)
        for decoded in view.texts.values()
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

    def __init__(self, view: FunctionView, profiles: frozenset[str]) -> None:
        self._edges = [
            DistanceEdge(edge_id, edge, view)
            for edge_id, edge in view.graph.edges.items()
            if _counts_wait_states(edge) and view.active(edge, profiles)
        ]
        self.reach = max((_edge_most(edge) for edge in self._edges), default=0)
        self._matcher = view.matcher
        self._texts = view.texts
        self._same: dict[tuple[str, ...], _Bounds] = {}
        self._traits: list[Traits | None] = [None]
        self.bounds = [_Bounds(0, 0, self.reach, self.reach)]
        """Text -> what it may need; the first is unknown code."""
        self.numbers: dict[int, int] = {}
        """Key of a text that was met -> its number, ``_UNKNOWN`` where what it does is not known."""
        self._pairs: dict[tuple[int, int], int] = {}

    def number(self, key: int) -> int:
        """The number of a text that is met for the first time."""
        decoded = self._texts[key]
        number = _UNKNOWN
        if not (decoded is None or decoded.is_call or decoded.has_indexed or decoded.base.startswith(_SETTLES)):
            traits = self._matcher.traits(decoded)
            alike = (traits.grade, *traits.nodes)
            bounds = self._same.get(alike)
            if bounds is None:
                bounds = self._same[alike] = self._bounds_of(traits)
            number = len(self._traits)
            self._traits.append(traits)
            self.bounds.append(bounds)
        self.numbers[key] = number
        return number

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
            return self.bounds[consumer].behind
        if consumer == _UNKNOWN:
            return self.bounds[producer].ahead
        known = self._pairs.get((producer, consumer))
        if known is None:
            known = self._pairs[producer, consumer] = self._between(producer, consumer)
        return known

    def _between(self, producer: int, consumer: int) -> int:
        first, second = self._traits[producer], self._traits[consumer]
        assert first is not None and second is not None
        common = self.bounds[producer].produces & self.bounds[consumer].consumes
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

    def __init__(self, view: FunctionView, profiles: frozenset[str]) -> None:
        self.view = view
        self.needs = _Needs(view, profiles)
        self._places = _Places(view)
        self._known: dict[tuple[int, ...], int] = {}
        self._shortened = -1
        """The last ``s_nop`` with advice: from there on lengths are those of the texts."""
        self.lengths = [1] * len(view.keys)
        for index in self._places.of(_NOP):
            self.lengths[index] = self._wait_states(index)
        self.steps = 0
        self._separates = _separating_classes(view, profiles)
        self._fixed_layout = any(_names_a_distance(decoded) for decoded in view.texts.values())

    def advice(self) -> Iterator[NopSlack]:
        """The advice, in program order."""
        budget = _STEPS_PER_INSTRUCTION * len(self.lengths) + 10_000
        reached = _reached_blocks(self.view)
        for index in self._places.of(_NOP):
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
                self._shortened = index
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
        return not (self._near(index, _COVERS, _CLAUSE) or self._near(index, _COUNTS, _DELAY))

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
        if first < block.first or end > block.end:
            return self._needed(index, count)
        key = tuple(self.view.keys[first:end])
        if self._shortened >= first:
            lengths = self.lengths[first:index]
            if 0 in lengths:  # the run reaches further than its instructions
                return self._needed(index, count)
            key += tuple(lengths)
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
        limit = max(left for left, _, _ in behind)
        most = 0
        for ahead, before, producer in self._producers(index, limit):
            self.steps += len(behind)
            for left, distance, consumer in behind:
                if ahead - distance <= most or left - before <= most:
                    continue
                most = max(most, needs.between(producer, consumer) - before - distance)
                if most >= count:
                    return count
        return most

    def _consumers(self, index: int) -> list[tuple[int, int, int]]:
        """What may need distance behind the ``s_nop``, over all paths: what its distance leaves of the most that it
        may need, the distance, and the text."""
        view, lengths, keys = self.view, self.lengths, self.view.keys
        needs, numbers, bounds, reach = self.needs, self.needs.numbers, self.needs.bounds, self.needs.reach
        found: list[tuple[int, int, int]] = []
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index + 1, 0)]
        while work:
            number, first, distance = work.pop()
            block = view.blocks[number]
            for position in range(first, block.end):
                key = keys[position]
                text = numbers[key] if key in numbers else needs.number(key)
                self.steps += 1
                left = bounds[text].behind - distance
                if left > 0:
                    found.append((left, distance, text))
                if text == _UNKNOWN:
                    distance = reach
                elif position != index:
                    distance += lengths[position]
                if distance >= reach:
                    break
            else:
                ends_wave = block.end > block.first and self._base(block.end - 1).startswith("s_endpgm")
                if block.leaves or block.falls_off or not (block.successors or ends_wave):
                    found.append((reach - distance, distance, _UNKNOWN))
                for successor in block.successors:
                    if distance < entered.get(successor, reach):
                        entered[successor] = distance
                        work.append((successor, view.blocks[successor].first, distance))
        return found

    def _producers(self, index: int, reach: int) -> list[tuple[int, int, int]]:
        """The same for what may need distance before something behind the ``s_nop``; ``reach`` is the most that
        anything there may need."""
        view, lengths, keys = self.view, self.lengths, self.view.keys
        needs, numbers, bounds = self.needs, self.needs.numbers, self.needs.bounds
        found: list[tuple[int, int, int]] = []
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index - 1, 0)]
        while work:
            number, last, distance = work.pop()
            block = view.blocks[number]
            for position in range(last, block.first - 1, -1):
                key = keys[position]
                text = numbers[key] if key in numbers else needs.number(key)
                self.steps += 1
                left = bounds[text].ahead - distance
                if left > 0:
                    found.append((left, distance, text))
                if text == _UNKNOWN:
                    distance = reach
                elif position != index:
                    distance += lengths[position]
                if distance >= reach:
                    break
            else:
                # A kernel is entered by a new wave, in which nothing ran before.
                if not (number == 0 and view.function.is_kernel) and (number == 0 or not block.predecessors):
                    found.append((needs.reach - distance, distance, _UNKNOWN))
                for predecessor in block.predecessors:
                    if distance < entered.get(predecessor, reach):
                        entered[predecessor] = distance
                        work.append((predecessor, view.blocks[predecessor].end - 1, distance))
        return found


class _Places:
    """Where instructions of some kinds stand, found in one pass over the texts."""

    def __init__(self, view: FunctionView) -> None:
        self._keys = view.keys
        self._of_kind: dict[tuple[str, ...], set[int]] = {_NOP: set(), _SETTLES: set(), _COVERS: set(), _COUNTS: set()}
        every = tuple(prefix for prefixes in self._of_kind for prefix in prefixes)
        for key, decoded in view.texts.items():
            if decoded is not None and decoded.base.startswith(every):
                for prefixes, of_kind in self._of_kind.items():
                    if decoded.base.startswith(prefixes):
                        of_kind.add(key)
        self._known: dict[tuple[str, ...], list[int]] = {}

    def of(self, prefixes: tuple[str, ...]) -> list[int]:
        """Indices of the instructions of a kind, in order."""
        known = self._known.get(prefixes)
        if known is None:
            known = self._known[prefixes] = sorted(chain.from_iterable(map(self._uses, self._of_kind[prefixes])))
        return known

    def _uses(self, key: int) -> Iterator[int]:
        """Indices of the instructions of one text."""
        index = -1
        for _ in range(self._keys.count(key)):
            index = self._keys.index(key, index + 1)
            yield index


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
        names.update(name for name in (edge.through, edge.within_class) if name)
    return view.matcher.class_mask(tuple(names))


def _names_a_distance(decoded: Decoded | None) -> bool:
    """True for a branch that is written as a number of words: no instruction may be removed on the way."""
    if decoded is None or not decoded.classes & Op.BRANCH or decoded.classes & Op.INDIRECT:
        return False
    return bool(decoded.operands) and decoded.operands[-1].value is not None
