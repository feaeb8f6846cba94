"""What the code behind a wait needs of the events that the wait ends: all paths from there are followed with those
events still in flight."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from asmevo_gate.analysis.counters import Effect, Event
from asmevo_gate.analysis.pending_events import InFlight, event_on
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_state import Events, Race, State
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Block

_ORDERING_KINDS = frozenset(("invalidate", "writeback", "message", "message_return", "flat_store"))


class Need:
    """Which of the events that a wait ends something behind it needs, were the wait not there for them.

    ``decided``: one of those is among them for which the wait must stay as strong as it is. ``ended_by`` are the waits
    that end some of the others.
    """

    def __init__(self, deciding: set[int]) -> None:
        self.events: set[int] = set()
        self.ended_by: set[int] = set()
        self.decided = False
        self._deciding = deciding

    def add(self, events: Iterable[int]) -> None:
        """Something needs these events."""
        self.events.update(events)
        self.decided = not self._deciding.isdisjoint(self.events)

    def report(self, race: Race) -> None:
        """An instruction needs the end of an event."""
        self.add((race.producer,))


class Onward:
    """A function as the events that a weaker wait leaves in flight meet it: no instruction issues anything new."""

    def __init__(self, memory: PendingMemory) -> None:
        self.memory = memory
        self._ordering: list[int] = []
        for one in memory.function.spellings:
            if _orders_memory(one.decoded, memory.effects[one.indices[0]]):
                self._ordering += one.indices
        self._ordering.sort()

    def find_needed(self, block: Block, index: int, track: int, tracks: Mapping[int, Events], need: Need) -> int:
        """Fill in what is needed of the events that the wait at ``index`` ends on ``track``, until that is decided or
        complete. ``tracks`` holds the events there, those of other counters that end with them, and the pairs of all.
        The number of instructions looked at."""
        memory = self.memory
        need.add(
            event for event in tracks.get(track, {}) if _orders_other_waves(event_on(memory.effects[event], track))
        )
        states: dict[int, State] = {}
        steps = 1
        work: list[tuple[Block, int, State]] = [(block, index + 1, State(tracks))]
        while work and not need.decided:
            at, first, state = work.pop()
            stop, end = self._behind(state, first, at, need)
            if stop is not None:
                steps += stop - first + 1
                continue
            steps += at.end - first
            for number in at.successors:
                known = states.get(number)
                joined = end if known is None else known.joined(end)
                if joined is known:
                    continue
                states[number] = joined
                following = memory.function.blocks[number]
                work.append((following, following.first, joined))
        return steps

    def _behind(self, state: State, first: int, block: Block, need: Need) -> tuple[int | None, State]:
        """The state at the end of the block. Or the instruction before that which orders memory, which is to say needs
        everything, or behind which nothing is left to find."""
        ordering = self._ordering
        place = bisect_left(ordering, first)
        barrier = ordering[place] if place < len(ordering) and ordering[place] < block.end else None
        moves = self.memory.moves(first, block.end if barrier is None else barrier)
        leaves = barrier is not None or block.leaves or block.falls_off
        if not moves and not leaves:
            return None, state
        effects = self.memory.effects
        events = InFlight(self.memory.model, effects, state)
        nothing_left = not state.tracks
        for index in moves:
            effect = effects[index]
            if effect.active or effect.touches & events.holds or effect.writes & events.locks:
                if events.step_past(index, effect, need.report):
                    nothing_left = events.nothing_in_flight()
                    if _only_waits(effect):
                        need.ended_by.add(index)
                if need.decided or nothing_left:
                    return index, state
        if leaves:
            need.add(events.in_flight())
        return barrier, events.state()


def _orders_other_waves(event: Event) -> bool:
    """True for a store or a fill of LDS, which other waves see."""
    return not (event.holds or event.locks) or event.fills_lds


def _orders_memory(decoded: Decoded | None, effect: Effect) -> bool:
    if effect.unknown or effect.arrives or effect.passes or effect.kind in _ORDERING_KINDS:
        return True
    return decoded is not None and decoded.of(Op.CALL | Op.INDIRECT)


def _only_waits(effect: Effect) -> bool:
    return bool(effect.waits) and not effect.touches and not effect.events
