"""What may be in flight at one point of a program, and how one instruction changes it.

For every event that may still be in flight the state holds one number: how many events of the same order were
surely issued after it, the smallest over all paths. A wait for ``n`` surely ends exactly the events with at
least ``n`` later ones (if such an event were in flight, so were its successors of the same order, and the
counter would stand above ``n``). This is exact per order also when events of other orders are counted by the
same counter, as they can only raise it.

Why the data flow over these states converges, on every graph:

- A state is a map from (track, event) to a number of ``{ABSENT} + {STUCK, -1, 0, .. capacity - 1}``, ordered
  by "allows more behaviour": ``STUCK`` > -1 > 0 > .. > ``ABSENT``, and three finite sets that only grow with
  it. The lattice is finite, its height at most (tracks * instructions * 66).
- ``merge`` is the pointwise join of that order (the smaller number; the union).
- ``Walk.step`` is monotone: what it removes or adds (waits, issue, capacity, overwriting, calls) is decided
  per event from its own number and from the instruction, and a larger number is removed whenever a smaller
  one is. The one condition on *other* events (an event that breaks the order makes others ``STUCK``) goes the
  right way.

So a worklist ends with the least fixed point. As every step also distributes over ``merge``, that fixed point
is the join over all paths: what is reported happens on a path of the graph, and nothing on such a path is
missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from asmevo_gate.analysis.counters import UNORDERED, CounterModel, Effect, Event

STUCK = -2
"""In place of the number of later events: only a wait for 0 ends this event."""


class State:
    """What may be in flight at the start of a block.

    ``tracks[t]`` maps an event (the index ``i`` of its instruction; ``~i`` for the condition "``i`` was the
    first fill of LDS and nothing that fills LDS has ended") to the number of later events or :data:`STUCK`.
    ``lds_empty``: LDS may never have been filled. ``arrived`` / ``passed``: LDS writes that may have been in
    flight at the last barrier, as (event, barrier instruction), before and after all waves have reached it.
    """

    __slots__ = ("arrived", "lds_empty", "passed", "tracks")

    def __init__(self, tracks: int, lds_empty: bool = False) -> None:
        self.tracks: list[dict[int, int]] = [{} for _ in range(tracks)]
        self.lds_empty = lds_empty
        self.arrived: frozenset[tuple[int, int]] = frozenset()
        self.passed: frozenset[tuple[int, int]] = frozenset()

    def copy(self) -> State:
        """An independent copy."""
        new = State(0, self.lds_empty)
        new.tracks = [dict(track) for track in self.tracks]
        new.arrived, new.passed = self.arrived, self.passed
        return new

    def merge(self, other: State) -> bool:
        """Join ``other`` into this state; true when this changed."""
        changed = False
        for mine, theirs in zip(self.tracks, other.tracks, strict=True):
            for event, later in theirs.items():
                old = mine.get(event)
                if old is None or later < old:
                    mine[event] = later
                    changed = True
        if other.lds_empty and not self.lds_empty:
            self.lds_empty = changed = True
        if not other.arrived <= self.arrived:
            self.arrived |= other.arrived
            changed = True
        if not other.passed <= self.passed:
            self.passed |= other.passed
            changed = True
        return changed

    def size(self) -> int:
        """Number of events held; the unit of work of a merge."""
        return sum(map(len, self.tracks)) + len(self.arrived) + len(self.passed)


class Race(NamedTuple):
    """An instruction that needs the end of an event that may still be in flight.

    ``access`` is ``raw``, ``waw``, ``war``, ``ldsdma``, ``barrier`` or ``sendmsg``. ``later`` is the count
    that a wait must reach (0 for an event that only a wait for 0 ends). ``registers`` is the overlap.
    ``certain`` is false where the race needs an assumption about LDS addresses. ``barrier`` is the barrier
    that was crossed.
    """

    access: str
    track: int
    producer: int
    consumer: int
    later: int
    registers: int
    certain: bool = True
    barrier: int = -1


Report = Callable[[Race], None]


class Walk:
    """A state in motion through the instructions of one block.

    An ordered event is kept as the value that its order's clock had just after it was issued, so that issuing
    costs one addition; the number of later events is the difference.
    """

    __slots__ = (
        "_arrived", "_clocks", "_effects", "_first_fills", "_flat", "_holds", "_lds_empty", "_locks", "_model",
        "_ordered", "_passed", "_stuck", "holds", "locks",
    )  # fmt: skip

    def __init__(self, model: CounterModel, effects: list[Effect], state: State) -> None:
        self._model = model
        self._effects = effects
        self._clocks = [[0] * orders for orders in model.orders]
        tracks = len(self._clocks)
        self._ordered: list[dict[int, tuple[int, int]]] = [{} for _ in range(tracks)]
        self._stuck: list[set[int]] = [set() for _ in range(tracks)]
        self._flat = [False] * tracks
        self._holds = [0] * tracks
        self._locks = [0] * tracks
        self.holds = self.locks = 0
        self._lds_empty = state.lds_empty
        self._arrived = state.arrived
        self._passed = state.passed
        self._first_fills = False
        for track, events in enumerate(state.tracks):
            if events:
                self._take(track, events)

    def _take(self, track: int, events: dict[int, int]) -> None:
        """Begin with the events of a state on one track."""
        ordered, stuck = self._ordered[track], self._stuck[track]
        for event, later in events.items():
            one = self._event(event, track)
            if later == STUCK:
                stuck.add(event)
                self._flat[track] |= one.breaks_order
            else:
                ordered[event] = (self._order(one, track), -later)
            if event < 0:
                self._first_fills = True
            elif track == one.track:
                self._hold(one)

    def state(self) -> State:
        """The state after the instructions stepped so far."""
        result = State(0, self._lds_empty)
        for ordered, stuck, clocks, capacity in zip(
            self._ordered, self._stuck, self._clocks, self._model.capacity, strict=True
        ):
            events = {}
            for event, (order, stamp) in ordered.items():
                later = clocks[order] - stamp
                if later < capacity:
                    events[event] = later
            for event in stuck:
                events[event] = STUCK
            result.tracks.append(events)
        self._drop_half_ended(result)
        result.arrived, result.passed = self._arrived, self._passed
        return result

    def step(self, index: int, effect: Effect, report: Report | None = None) -> None:
        """Go past one instruction. A race is reported once; the event then counts as ended for this path."""
        if effect.waits:
            for track, count in effect.waits:
                self._wait(track, count)
        if effect.touches & self.holds or effect.writes & self.locks:
            self._check(index, effect, report)
        if effect.active:
            self._advance(index, effect, report)

    def nothing_in_flight(self) -> bool:
        """True when no event is left."""
        return not any(self._ordered) and not any(self._stuck)

    def size(self) -> int:
        """Number of events held."""
        return sum(map(len, self._ordered)) + sum(map(len, self._stuck))

    def in_flight(self) -> set[int]:
        """Instructions whose events may be in flight on some counter."""
        return {event for track in (*self._ordered, *self._stuck) for event in track if event >= 0}

    def _advance(self, index: int, effect: Effect, report: Report | None) -> None:
        if effect.unknown:
            self._forget()
            return
        if effect.reads_lds:
            self._check_lds(index, report)
        if effect.frees_vgprs:
            self._check_scratch_stores(index, report)
        if effect.arrives or effect.passes:
            self._barrier(index, effect)
        if effect.fills_lds:
            self._start_fill(effect.kind)
        for track, stays in effect.ends_others:
            self._end_other_orders(track, stays)
        if effect.events:
            clocks = self._clocks
            stamps = [clocks[event.track][event.order] + 1 for event in effect.events]
            shadows = [[clocks[track][order] + 1 for track, order in event.also] for event in effect.events]
            for track, order in effect.counts:
                clocks[track][order] += 1
            for event, stamp, also in zip(effect.events, stamps, shadows, strict=True):
                self._issue(index, event, stamp, also)
        else:
            for track, order in effect.counts:
                self._clocks[track][order] += 1

    def _issue(self, index: int, event: Event, stamp: int, shadows: list[int]) -> None:
        track = event.track
        if event.breaks_order:
            self._stuck[track].update(self._ordered[track])
            self._ordered[track].clear()
        if event.breaks_order or self._flat[track] or event.order == UNORDERED:
            self._drop_covered(index, event)
            self._stuck[track].add(index)
            self._flat[track] |= event.breaks_order
        else:
            ordered = self._ordered[track]
            ordered.pop(index, None)
            ordered[index] = (event.order, stamp)
            if len(ordered) > 2 * self._model.capacity[track] + 16:
                self._drop_overflow(track)
        for (shadow, order), its_stamp in zip(event.also, shadows, strict=True):
            if order == UNORDERED:
                self._stuck[shadow].add(index)
            else:
                self._ordered[shadow][index] = (order, its_stamp)
        self._hold(event)
        if event.fills_lds and self._lds_empty:
            self._lds_empty = False
            self._first_fills = True
            if self._flat[track]:
                self._stuck[track].add(~index)
            else:
                self._ordered[track][~index] = (event.order, stamp)

    def _wait(self, track: int, count: int) -> None:
        ordered, clocks = self._ordered[track], self._clocks[track]
        if count == 0 and track < len(self._model.counters):
            ended = [*ordered, *self._stuck[track]]
        else:
            ended = [event for event, (order, stamp) in ordered.items() if clocks[order] - stamp >= count]
            if count == 0:
                ended += self._stuck[track]
        if not ended:
            return
        main = self._model.main_track[track]
        for event in ended:
            self._end(event, main)
        self._refresh(main)
        self._join_masks()

    def _end(self, event: int, track: int) -> None:
        self._ordered[track].pop(event, None)
        self._stuck[track].discard(event)
        if event < 0:
            return
        one = self._event(event, track)
        for shadow, _ in one.also:
            self._ordered[shadow].pop(event, None)
            self._stuck[shadow].discard(event)
        if one.breaks_order:
            self._flat[track] = any(self._event(other, track).breaks_order for other in self._stuck[track])

    def _check(self, index: int, effect: Effect, report: Report | None) -> None:
        for track in range(len(self._model.counters)):
            if not (effect.touches & self._holds[track] or effect.writes & self._locks[track]):
                continue
            ended = []
            clocks, capacity = self._clocks[track], self._model.capacity[track]
            for event, (order, stamp) in self._ordered[track].items():
                later = clocks[order] - stamp
                if later >= capacity or (event >= 0 and self._judge(index, effect, event, track, later, report)):
                    ended.append(event)
            for event in self._stuck[track]:
                if event >= 0 and self._judge(index, effect, event, track, 0, report):
                    ended.append(event)
            for event in ended:
                self._end(event, track)
            if ended:
                self._refresh(track)
        self._join_masks()

    def _judge(self, index: int, effect: Effect, producer: int, track: int, later: int, report: Report | None) -> bool:
        event = self._event(producer, track)
        access, overlap = "raw", event.holds & effect.reads
        if not overlap and not (event.write_order and event.write_order == effect.write_order):
            access, overlap = "waw", event.holds & effect.writes
        if not overlap and not any(track == exclusive for exclusive, _ in effect.ends_others):
            access, overlap = "war", event.locks & effect.writes
            if self._effects[producer].kind == "message":
                access = "sendmsg"
        if overlap and report:
            report(Race(access, track, producer, index, later, overlap, event.certain))
        return bool(overlap)

    def _check_lds(self, index: int, report: Report | None) -> None:
        """A read of LDS, as far as what it reads must still be on the way."""
        for event, barrier in self._passed:
            producer = event if event >= 0 else ~event
            effect = self._effects[producer]
            written = effect.kind in ("lds_store", "lds_atomic")
            if report and (event < 0 or written):
                track = next(one.track for one in effect.events if one.fills_lds)
                access = "barrier" if written else "ldsdma"
                report(Race(access, track, producer, index, 0, 0, event < 0, barrier))
        self._passed = frozenset()
        if not self._first_fills:
            return
        self._first_fills = False
        for track in range(len(self._model.counters)):
            clocks, capacity = self._clocks[track], self._model.capacity[track]
            first = [(e, clocks[o] - s) for e, (o, s) in self._ordered[track].items() if e < 0]
            first += [(e, 0) for e in self._stuck[track] if e < 0]
            for event, later in first:
                self._end(event, track)
                if later < capacity and report and self._effects[~event].kind not in ("lds_store", "lds_atomic"):
                    report(Race("ldsdma", track, ~event, index, later, 0))

    def _check_scratch_stores(self, index: int, report: Report | None) -> None:
        """Registers are given back: a scratch store in flight could go to another wave's memory."""
        for track in range(len(self._model.counters)):
            clocks, capacity = self._clocks[track], self._model.capacity[track]
            live = [(e, clocks[o] - s) for e, (o, s) in self._ordered[track].items() if clocks[o] - s < capacity]
            for event, later in (*live, *((e, 0) for e in self._stuck[track])):
                effect = self._effects[event if event >= 0 else ~event]
                if report and effect.kind == "scratch_store" and effect.events[0].track == track:
                    report(Race("sendmsg", track, event, index, later, 0))

    def _barrier(self, index: int, effect: Effect) -> None:
        if effect.arrives:
            found = set()
            for track in range(len(self._model.counters)):
                clocks, capacity = self._clocks[track], self._model.capacity[track]
                live = [e for e, (o, s) in self._ordered[track].items() if clocks[o] - s < capacity]
                for event in (*live, *self._stuck[track]):
                    if self._event(event, track).fills_lds:
                        found.add((event, index))
            self._arrived = frozenset(found)
        if effect.passes:
            self._passed, self._arrived = self._arrived, frozenset()

    def _start_fill(self, kind: str) -> None:
        """Another way of filling LDS starts: what a later read finds is no longer known to be on the way."""
        if self._first_fills:
            for track in range(len(self._model.counters)):
                for event in [e for e in (*self._ordered[track], *self._stuck[track]) if e < 0]:
                    if self._effects[~event].kind != kind:
                        self._end(event, track)
        if kind == "flat_store":
            self._lds_empty = False

    def _end_other_orders(self, track: int, stays: int) -> None:
        others = [event for event, (order, _) in self._ordered[track].items() if order != stays]
        for event in others:
            self._end(event, track)
        if others:
            self._refresh(track)
            self._join_masks()

    def _forget(self) -> None:
        """Nothing is known about what is in flight: assume that everything has ended rather than guess."""
        for track in range(self._model.tracks):
            self._ordered[track].clear()
            self._stuck[track].clear()
            self._flat[track] = False
            self._holds[track] = self._locks[track] = 0
        self.holds = self.locks = 0
        self._lds_empty = False
        self._arrived = self._passed = frozenset()

    def _drop_covered(self, index: int, event: Event) -> None:
        """Leave out what a newer event of the same kind says as well, so that the state stays bounded by the
        number of registers: both end only with a wait for 0, and whoever touches the older one's registers
        touches the newer one's."""
        kind = self._effects[index].kind
        covered = [
            old
            for old in self._stuck[event.track]
            if old >= 0 and old != index and self._covers(event, self._event(old, event.track))
            and self._effects[old].kind == kind
        ]  # fmt: skip
        for old in covered:
            self._end(old, event.track)

    @staticmethod
    def _covers(new: Event, old: Event) -> bool:
        return old.holds | new.holds == new.holds and old.locks | new.locks == new.locks and not old.also

    def _drop_overflow(self, track: int) -> None:
        clocks, capacity = self._clocks[track], self._model.capacity[track]
        ended = [e for e, (order, stamp) in self._ordered[track].items() if clocks[order] - stamp >= capacity]
        for event in ended:
            self._end(event, track)
        if ended:
            self._refresh(track)

    def _drop_half_ended(self, result: State) -> None:
        """An event over capacity on one of its tracks has ended on all."""
        for track in self._model.shadows:
            main = self._model.main_track[track]
            events = result.tracks[track]
            for event in [e for e in events if e not in result.tracks[main]]:
                del events[event]

    def _event(self, event: int, track: int) -> Event:
        main = self._model.main_track[track]
        for one in self._effects[event if event >= 0 else ~event].events:
            if one.track == main:
                return one
        raise AssertionError(f"instruction {event} raises no counter of track {track}")

    @staticmethod
    def _order(event: Event, track: int) -> int:
        if track == event.track:
            return event.order
        return next(order for shadow, order in event.also if shadow == track)

    def _hold(self, event: Event) -> None:
        self._holds[event.track] |= event.holds
        self._locks[event.track] |= event.locks
        self.holds |= event.holds
        self.locks |= event.locks

    def _refresh(self, track: int) -> None:
        holds = locks = 0
        for event in (*self._ordered[track], *self._stuck[track]):
            if event >= 0:
                one = self._event(event, track)
                holds |= one.holds
                locks |= one.locks
        self._holds[track], self._locks[track] = holds, locks

    def _join_masks(self) -> None:
        holds = locks = 0
        for one in self._holds:
            holds |= one
        for one in self._locks:
            locks |= one
        self.holds, self.locks = holds, locks
