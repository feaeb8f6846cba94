"""Whether a race can happen: is there a path to it whose branches do not contradict each other?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from asmevo_gate.analysis.counters import UNORDERED, CounterModel, Effect, Event
from asmevo_gate.analysis.path_conditions import FORGET, NOTHING, Facts, Step, after, along, both, step_of
from asmevo_gate.analysis.pending_state import Race
from asmevo_gate.program.model import Block, Function

STEPS_PER_RACE = 30_000
STEPS_PER_FUNCTION = 400_000
"""Work limits; a race that they leave undecided counts as possible."""

_NOT_ISSUED, _ENDED = -1, -2

_EXACT_AFTER = 3
"""Visits of a block after which only facts that stay the same are kept."""

_CHAIN = 8
"""Blocks before the producer's whose branches are taken into account."""


class Feasibility:
    """Decides races of one function, within a work limit."""

    def __init__(self, function: Function, model: CounterModel, effects: list[Effect]) -> None:
        self._function = function
        self._effects = effects
        self._left = STEPS_PER_FUNCTION
        self._has_flat = any(event.breaks_order for effect in effects for event in effect.events)
        self._capacity = model.capacity
        self._steps: dict[int, list[tuple[int, Step]]] = {}
        self._moves: dict[tuple[int, int], list[int]] = {}

    def possible(self, race: Race) -> bool:
        """False when every path from the producer to the consumer contradicts itself or ends the event."""
        event = next((one for one in self._effects[race.producer].events if one.track == race.track), None)
        if event is None or event.also or race.access in ("barrier", "ldsdma") or self._left <= 0:
            return True
        if any(self._in_subroutine(index) for index in (race.producer, race.consumer)):
            return True  # the ways into and out of a subroutine are not searched
        search = _Search(self, race, event)
        found = search.reaches()
        self._left -= search.steps
        return found

    def known_at(self, block: Block) -> Facts:
        """What holds at the start of a block on every path from the entry."""
        return self._known.get(block.number, NOTHING)

    @cached_property
    def _known(self) -> dict[int, Facts]:
        """Least facts of each block. Facts only get fewer, and after a few visits only by leaving some out."""
        blocks = self._function.blocks
        known: dict[int, Facts] = {0: NOTHING}
        visits: dict[int, int] = {}
        work = [0]
        while work:
            block = blocks[work.pop()]
            facts = known[block.number]
            for _, step in self.steps(block):
                facts = after(facts, step)
            for number, there in self.edges(block, facts):
                old = known.get(number)
                visits[number] = visits.get(number, 0) + 1
                new = there if old is None else both(old, there, visits[number] > _EXACT_AFTER)
                if new != old:
                    known[number] = new
                    work.append(number)
        if any(block.lost for block in blocks):
            for block in blocks:  # control may come back anywhere
                if not block.predecessors and block.number:
                    known[block.number] = NOTHING
        return known

    def edges(self, block: Block, facts: Facts) -> Iterator[tuple[int, Facts]]:
        """Blocks that may follow, each with the facts that the branch leaves."""
        last = self._function.instructions[block.end - 1].decoded
        for number in block.successors:
            there: Facts | None = facts
            if last is not None and len(block.successors) == 2:
                following = self._function.blocks[number].first == block.end
                there = along(facts, last, not following)
            if there is not None:
                yield number, there

    def steps(self, block: Block) -> list[tuple[int, Step]]:
        """Instructions of a block that change facts."""
        known = self._steps.get(block.number)
        if known is None:
            known = self._steps[block.number] = []
            for index in range(block.first, block.end):
                decoded = self._function.instructions[index].decoded
                step = FORGET if self._effects[index].unknown else step_of(decoded)
                if step:
                    known.append((index, step))
            called, call = self._function.called(block), self._function.instructions[block.end - 1].decoded
            if called is not None and call is not None:
                writes = (call.writes | called.writes) & FORGET.writes
                known[-1:] = [(block.end - 1, FORGET._replace(writes=writes))]
        return known

    def _in_subroutine(self, index: int) -> bool:
        blocks = self._function.blocks
        return any(blocks[one].first <= index < blocks[one].end for one in self._function.in_subroutines)

    def moves(self, block: Block, track: int) -> list[int]:
        """Instructions of a block that matter for events of a track."""
        known = self._moves.get((block.number, track))
        if known is None:
            known = self._moves[block.number, track] = [
                index
                for index in range(block.first, block.end)
                if self._effects[index].unknown
                or any(one == track for one, _ in self._effects[index].waits)
                or any(one == track for one, _ in self._effects[index].counts)
                or any(one == track for one, _ in self._effects[index].ends_others)
            ]
        return known

    @property
    def function(self) -> Function:
        """The function that is searched."""
        return self._function

    @property
    def effects(self) -> list[Effect]:
        """Effects of its instructions."""
        return self._effects

    def starts_stuck(self, event: Event) -> bool:
        """True when an event may be one that only a wait for 0 ends."""
        return event.order == UNORDERED or self._has_flat

    def capacity(self, track: int) -> int:
        """Largest count of a track."""
        return self._capacity[track]


class _Search:
    """Follows one event along all paths with the facts that their branches establish.

    In place of the number of later events stands :data:`_NOT_ISSUED` before the producer, :data:`_ENDED` at the end.
    """

    def __init__(self, rules: Feasibility, race: Race, event: Event) -> None:
        self._rules = rules
        self._race = race
        self._event = event
        self._stuck = rules.starts_stuck(event)
        self.steps = 0

    def reaches(self) -> bool:
        """True when the consumer is reached with the event in flight, or the work limit is."""
        function = self._rules.function
        start, chain = self._start()
        seen: set[tuple[int, int, Facts]] = set()
        work: list[tuple[Block, int, Facts]] = [(start, _NOT_ISSUED, self._rules.known_at(start))]
        while work:
            block, later, facts = work.pop()
            key = (block.number, later, facts)
            if key in seen:
                continue
            seen.add(key)
            if later == _NOT_ISSUED and block.number not in chain:
                continue
            outcome = self._through(block, later)
            if outcome is None:
                return True
            if self.steps > STEPS_PER_RACE:
                return True
            if outcome == _ENDED:
                continue
            for _, step in self._rules.steps(block):
                facts = after(facts, step)
            self.steps += len(self._rules.steps(block))
            for number, there in self._rules.edges(block, facts):
                work.append((function.blocks[number], outcome, there))
        return False

    def _start(self) -> tuple[Block, set[int]]:
        blocks = self._rules.function.blocks
        home = self._rules.function.block_of(self._race.producer)
        chain = {home.number}
        start = home
        while len(start.predecessors) == 1 and len(chain) < _CHAIN and start.predecessors[0] not in chain:
            start = blocks[start.predecessors[0]]
            chain.add(start.number)
        return start, chain

    def _through(self, block: Block, later: int) -> int | None:
        """The number of later events behind a block, :data:`_ENDED`, ``None`` when it meets the
        consumer."""
        race, track, order = self._race, self._event.track, self._event.order
        moves = self._rules.moves(block, track)
        ends = [index for index in (race.producer, race.consumer) if block.first <= index < block.end]
        capacity = self._rules.capacity(track)
        pending = later
        for index in sorted({*moves, *ends}):
            self.steps += 1
            effect = self._rules.effects[index]
            if pending >= 0:
                for one, count in effect.waits:
                    if one == track and (count == 0 or (not self._stuck and pending >= count)):
                        pending = _ENDED
                if pending >= 0 and index == race.consumer:
                    return None
                if effect.unknown:
                    return _ENDED
                if pending >= 0 and any(one == track and stays != order for one, stays in effect.ends_others):
                    pending = _ENDED
                if pending >= 0 and not self._stuck:
                    pending += sum(1 for one in effect.counts if one == (track, order))
                    if pending >= capacity:
                        pending = _ENDED
            if index == race.producer:
                pending = 0
        return pending
