"""How one instruction changes what may be in flight. :mod:`asmevo_gate.analysis.pending_state` says why the data flow
over these steps converges."""

from __future__ import annotations

from asmevo_gate.analysis.counters import UNORDERED, CounterModel, Effect, Event
from asmevo_gate.analysis.pending_events import InFlight, Track
from asmevo_gate.analysis.pending_state import Events, Race, Report, State


class Walk(InFlight):
    """A state in motion through the instructions of one block."""

    __slots__ = ("_arrived", "_first_fills", "_lds_empty", "_passed")

    def __init__(self, model: CounterModel, effects: list[Effect], state: State) -> None:
        super().__init__(model, effects, state)
        self._lds_empty = state.lds_empty
        self._arrived = state.arrived
        self._passed = state.passed
        self._first_fills = any(event < 0 for events in state.tracks.values() for event in events)

    def state(self) -> State:
        """The state after the instructions stepped so far."""
        return State(self._events(self._tracks), self._lds_empty, self._arrived, self._passed)

    def found_by(self, waits: tuple[tuple[int, int], ...]) -> dict[int, Events]:
        """The events that a wait for these counts finds in flight, on each of the counters that it ends events of and
        on the pairs of those."""
        family, main = self._model.family, self._model.main_track
        return self._events(dict.fromkeys(other for track, _ in waits for other in family[main[track]]))

    def step(self, index: int, effect: Effect, report: Report | None = None) -> None:
        """Go past one instruction. A race is reported once; the event then counts as ended for this path."""
        if effect.waits:
            self._wait(effect.waits)
        if effect.touches & self.holds or effect.writes & self.locks:
            self._check(index, effect, report)
        if effect.special:
            if effect.unknown:
                self._forget()
                return
            self._step_special(index, effect, report)
        if effect.events:
            self._issue(index, effect)

    def _step_special(self, index: int, effect: Effect, report: Report | None) -> None:
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

    def _issue(self, index: int, effect: Effect) -> None:
        for event in effect.events:
            for shadow, order in event.also:
                self._put(index, shadow, order, event)
        for track, order in effect.counts:
            self._track(track).clocks[order] += 1
        for event in effect.events:
            self._start(index, event)

    def _put(self, index: int, shadow: int, order: int, event: Event) -> None:
        """The event ends with those of another counter as well. Its own count there is still to come."""
        mine = self._track(shadow)
        if order == UNORDERED:
            mine.stuck[index] = event
        else:
            mine.ordered[index] = (order, mine.clocks[order] + 1, event)

    def _start(self, index: int, event: Event) -> None:
        mine = self._tracks[event.track]
        stamp = mine.clocks[event.order]
        if event.breaks_order:
            for old, (_, _, one) in mine.ordered.items():
                mine.stuck[old] = one
            mine.ordered.clear()
        if event.breaks_order or mine.flat or event.order == UNORDERED:
            self._drop_covered(index, event, mine)
            mine.stuck[index] = event
            mine.flat |= event.breaks_order
        else:
            ordered = mine.ordered
            ordered.pop(index, None)
            ordered[index] = (event.order, stamp, event)
            if len(ordered) > 2 * self._model.capacity[event.track] + 16:
                self._end_all(mine.aged(self._model.capacity[event.track]), event.track)
        mine.holds |= event.holds
        mine.locks |= event.locks
        self.holds |= event.holds
        self.locks |= event.locks
        if event.fills_lds and self._lds_empty:
            self._lds_empty = False
            self._first_fills = True
            if mine.flat:
                mine.stuck[~index] = event
            else:
                mine.ordered[~index] = (event.order, stamp, event)

    def _drop_covered(self, index: int, event: Event, mine: Track) -> None:
        """Leave out what a newer event of the same kind says as well, so that the state stays bounded by the
        number of registers: both end only with a wait for 0, and whoever touches the older one's registers
        touches the newer one's."""
        kind = self._effects[index].kind
        covered = [
            old
            for old, one in mine.stuck.items()
            if old >= 0 and old != index and _covers(event, one) and self._effects[old].kind == kind
        ]
        for old in covered:
            self._end(old, event.track)

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
        for track in self._counters():
            for event, later, _ in self._alive(track):
                if event < 0 and report and self._effects[~event].kind not in ("lds_store", "lds_atomic"):
                    report(Race("ldsdma", track, ~event, index, later, 0))
            for event in self._first_fills_of(track):
                self._end(event, track)

    def _check_scratch_stores(self, index: int, report: Report | None) -> None:
        """Registers are given back: a scratch store in flight could go to another wave's memory."""
        for track in self._counters():
            for event, later, _ in self._alive(track):
                effect = self._effects[event if event >= 0 else ~event]
                if report and effect.kind == "scratch_store" and effect.events[0].track == track:
                    report(Race("sendmsg", track, event, index, later, 0))

    def _barrier(self, index: int, effect: Effect) -> None:
        if effect.arrives:
            self._arrived = frozenset(
                (event, index) for track in self._counters() for event, _, one in self._alive(track) if one.fills_lds
            )
        if effect.passes:
            self._passed, self._arrived = self._arrived, frozenset()
            if effect.barrier:
                self._end_signals(effect.barrier)

    def _end_signals(self, barrier: str) -> None:
        """Behind the wait for a barrier the answers to its signals are there (``s_barrier_signal_isfirst``; LLVM
        SIInsertWaitcnts, tryClearSCCWriteEvent)."""
        for track in self._counters():
            mine = self._tracks[track]
            signals = [
                one for one in (*mine.ordered, *mine.stuck) if one >= 0 and self._effects[one].barrier == barrier
            ]
            if self._end_all(signals, track):
                self._join_masks()

    def _start_fill(self, kind: str) -> None:
        """Another way of filling LDS starts: what a later read finds is no longer known to be on the way."""
        if self._first_fills:
            for track in self._counters():
                for event in self._first_fills_of(track):
                    if self._effects[~event].kind != kind:
                        self._end(event, track)
        if kind == "flat_store":
            self._lds_empty = False

    def _forget(self) -> None:
        """Nothing is known about what is in flight: assume that everything has ended rather than guess."""
        for mine in self._tracks.values():
            mine.clear()
        self.holds = self.locks = 0
        self._lds_empty = False
        self._arrived = self._passed = frozenset()

    def _alive(self, track: int) -> list[tuple[int, int, Event]]:
        """The events that may be in flight on a counter, each with the count that surely ends it."""
        mine = self._tracks[track]
        clocks, capacity = mine.clocks, self._model.capacity[track]
        found = [
            (event, later, one)
            for event, (order, stamp, one) in mine.ordered.items()
            if (later := clocks[order] - stamp) < capacity
        ]
        return found + [(event, 0, one) for event, one in mine.stuck.items()]

    def _first_fills_of(self, track: int) -> list[int]:
        mine = self._tracks[track]
        return [event for event in (*mine.ordered, *mine.stuck) if event < 0]


def _covers(new: Event, old: Event) -> bool:
    return old.holds | new.holds == new.holds and old.locks | new.locks == new.locks and not old.also
