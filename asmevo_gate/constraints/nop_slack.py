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

import msgspec

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.wait_state_needs import (
    SETTLES,
    UNKNOWN,
    Needs,
    enters_from_elsewhere,
    leaves_to_elsewhere,
)
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Instruction
from asmevo_gate.program.reach import reached_from

_STEPS_PER_INSTRUCTION = 8
"""Work limit, in steps per instruction of the function: what is not looked at gets no advice."""

_REMAPS_REGISTERS = ("s_set_gpr_idx", "s_set_vgpr_msb")
"""Behind these a register name is not the register, in ways that the text of an instruction does not show."""

_SETTLING = 16
"""Instructions behind one of :data:`~asmevo_gate.constraints.wait_state_needs.SETTLES` that may serve its effect."""
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
    if not view.named(_NOP) or _is_unclear(view):
        return ()
    return tuple(_Shortening(view, profiles).advice())


def _is_unclear(view: FunctionView) -> bool:
    """True when register names are remapped, or a mode is entered that edges depend on."""
    if view.named(_REMAPS_REGISTERS):
        return True
    modes = 0
    for state in view.graph.states.values():
        modes |= view.matcher.class_mask((state.set_by,))
    return bool(modes) and any(traits is not None and traits.classes & modes for traits in view.distinct.values())


class _Shortening:
    """The pass over the ``s_nop``s. ``lengths`` are the wait states of each instruction with the advice so far."""

    def __init__(self, view: FunctionView, profiles: frozenset[str]) -> None:
        self.view = view
        self.needs = Needs(view, profiles)
        kinds: tuple[tuple[str, ...], ...] = (_NOP, SETTLES, _COVERS, _COUNTS)
        self._places = {prefixes: view.places(view.named(prefixes)) for prefixes in kinds}
        self._known: dict[tuple[int, ...], int] = {}
        self._shortened = -1
        """The last ``s_nop`` with advice: from there on lengths are those of the texts."""
        self.lengths = [1] * len(view.keys)
        for index in self._places[_NOP]:
            traits = view.distinct[view.keys[index]]
            assert traits is not None
            self.lengths[index] = traits.wait_states
        nops = self._places[_NOP]
        self._leading = next((number for number, index in enumerate(nops) if number != index), len(nops))
        """How many ``s_nop``s the function begins with."""
        self.steps = 0
        self._separates = _separating_classes(view, profiles)
        self._fixed_layout = any(_names_a_distance(decoded) for decoded in view.texts.values())

    def advice(self) -> Iterator[NopSlack]:
        """The advice, in program order."""
        budget = _STEPS_PER_INSTRUCTION * len(self.lengths) + 10_000
        reached = set(reached_from(self.view.blocks, (0,) if self.view.blocks else ()))
        for index in self._places[_NOP]:
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
        if index < self._leading:
            return False
        block = view.blocks[view.block_of[index]]
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
        return not self._near(index, SETTLES, _SETTLING)

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

    def _near(self, index: int, prefixes: tuple[str, ...], most: int) -> bool:
        """True when one of the instructions right before in the block is of this kind."""
        places = self._places[prefixes]
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
        may need, the distance, and the key of the text."""
        view, lengths, keys = self.view, self.lengths, self.view.keys
        reach, behind, unknown = self.needs.reach, self.needs.behind, self.needs.unknown
        found: list[tuple[int, int, int]] = []
        steps = 0
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index + 1, 0)]
        while work:
            number, first, distance = work.pop()
            block = view.blocks[number]
            for position in range(first, block.end):
                key = keys[position]
                steps += 1
                if key in behind:
                    if behind[key] > distance:
                        found.append((behind[key] - distance, distance, key))
                    if key in unknown:
                        break
                if position != index:
                    distance += lengths[position]
                    if distance >= reach:
                        break
            else:
                if leaves_to_elsewhere(view, number):
                    found.append((reach - distance, distance, UNKNOWN))
                for successor in block.successors:
                    if distance < entered.get(successor, reach):
                        entered[successor] = distance
                        work.append((successor, view.blocks[successor].first, distance))
        self.steps += steps
        return found

    def _producers(self, index: int, reach: int) -> list[tuple[int, int, int]]:
        """The same for what may need distance before something behind the ``s_nop``; ``reach`` is the most that
        anything there may need."""
        view, lengths, keys = self.view, self.lengths, self.view.keys
        needs, ahead, unknown = self.needs, self.needs.ahead, self.needs.unknown
        found: list[tuple[int, int, int]] = []
        steps = 0
        entered: dict[int, int] = {}
        work = [(view.block_of[index], index - 1, 0)]
        while work:
            number, last, distance = work.pop()
            block = view.blocks[number]
            for position in range(last, block.first - 1, -1):
                key = keys[position]
                steps += 1
                if key in ahead:
                    if ahead[key] > distance:
                        found.append((ahead[key] - distance, distance, key))
                    if key in unknown:
                        break
                if position != index:
                    distance += lengths[position]
                    if distance >= reach:
                        break
            else:
                if enters_from_elsewhere(view, number):
                    found.append((needs.reach - distance, distance, UNKNOWN))
                for predecessor in block.predecessors:
                    if distance < entered.get(predecessor, reach):
                        entered[predecessor] = distance
                        work.append((predecessor, view.blocks[predecessor].end - 1, distance))
        self.steps += steps
        return found


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
