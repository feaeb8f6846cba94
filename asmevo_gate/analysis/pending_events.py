"""Events in flight as they pass instructions that wait for them or need their results. Nothing new is issued here; that
is :mod:`asmevo_gate.analysis.pending_walk`."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.counters import CounterModel, Effect, Event
from asmevo_gate.analysis.pending_state import STUCK, Events, Race, Report, State


class Track:
    """The events in flight that the waits of one track end.

    An ordered event is kept with its order, the value that the clock of that order had just after it was issued, and
    what raised it: issuing costs one addition, and the number of later events is the difference. ``flat``: an event
    is in flight that breaks the order. ``holds`` and ``locks`` are the registers of all events.
    """

    __slots__ = ("clocks", "flat", "holds", "locks", "ordered", "stuck")

    def __init__(self, orders: int) -> None:
        self.clocks = [0] * orders
        self.ordered: dict[int, tuple[int, int, Event]] = {}
        self.stuck: dict[int, Event] = {}
        self.flat = False
        self.holds = self.locks = 0

    def clear(self) -> None:
        """Every event has ended."""
        self.ordered.clear()
        self.stuck.clear()
        self.flat = False
        self.holds = self.locks = 0

    def aged(self, count: int) -> list[int]:
        """The ordered events with at least ``count`` later ones."""
        clocks = self.clocks
        return [event for event, (order, stamp, _) in self.ordered.items() if clocks[order] - stamp >= count]

    def events(self, capacity: int) -> dict[int, int]:
        """The events as a :class:`State` has them. More than ``capacity`` are not in flight together."""
        clocks = self.clocks
        found = {
            event: later
            for event, (order, stamp, _) in self.ordered.items()
            if (later := clocks[order] - stamp) < capacity
        }
        for event in self.stuck:
            found[event] = STUCK
        return found

    def refresh(self) -> None:
        """Find ``holds`` and ``locks`` again."""
        holds = locks = 0
        for event, (_, _, one) in self.ordered.items():
            if event >= 0:
                holds |= one.holds
                locks |= one.locks
        for event, one in self.stuck.items():
            if event >= 0:
                holds |= one.holds
                locks |= one.locks
        self.holds, self.locks = holds, locks


class InFlight:
    """The events of a state in motion. ``holds`` and ``locks`` are the registers of all of them."""

    __slots__ = ("_effects", "_model", "_tracks", "holds", "locks")

    def __init__(self, model: CounterModel, effects: list[Effect], state: State) -> None:
        self._model = model
        self._effects = effects
        self._tracks: dict[int, Track] = {}
        self.holds = self.locks = 0
        for track, events in state.tracks.items():
            self._take(track, events)
        self._join_masks()

    def _take(self, track: int, events: Events) -> None:
        main = self._model.main_track[track]
        mine = self._track(track)
        for event, later in events.items():
            one = event_on(self._effects[event if event >= 0 else ~event], main)
            if later == STUCK:
                mine.stuck[event] = one
                mine.flat |= one.breaks_order
            else:
                order = one.order if main == track else next(order for shadow, order in one.also if shadow == track)
                mine.ordered[event] = (order, -later, one)
        if main == track:
            mine.refresh()

    def _track(self, track: int) -> Track:
        found = self._tracks.get(track)
        if found is None:
            found = self._tracks[track] = Track(self._model.orders[track])
        return found

    def state(self) -> State:
        """The state after the instructions passed so far."""
        return State(self._events(self._tracks))

    def _events(self, tracks: Iterable[int]) -> dict[int, Events]:
        """The events of some tracks as a state has them, of pairs together with their counter."""
        capacity = self._model.capacity
        found: dict[int, Events] = {}
        for track in tracks:
            mine = self._tracks.get(track)
            if mine and (mine.ordered or mine.stuck) and (events := mine.events(capacity[track])):
                found[track] = events
        for shadow in self._model.shadows:
            if shadow in found:  # an event over capacity on one of its tracks has ended on all
                main = found.get(self._model.main_track[shadow], {})
                events = {event: later for event, later in found.pop(shadow).items() if event in main}
                if events:
                    found[shadow] = events
        return found

    def step_past(self, index: int, effect: Effect, report: Report) -> bool:
        """Go past one instruction whose own events are of no interest. True when a wait or an access, or an event of
        another order, ended something."""
        ended = bool(effect.waits) and self._wait(effect.waits)
        if effect.touches & self.holds or effect.writes & self.locks:
            ended |= self._check(index, effect, report)
        for track, stays in effect.ends_others:
            ended |= self._end_other_orders(track, stays)
        for track, order in effect.counts:
            mine = self._tracks.get(track)
            if mine:
                mine.clocks[order] += 1
        return ended

    def nothing_in_flight(self) -> bool:
        """True when no event is left."""
        return not any(one.ordered or one.stuck for one in self._tracks.values())

    def in_flight(self) -> set[int]:
        """Instructions whose events may be in flight on some counter."""
        return {event for one in self._tracks.values() for event in (*one.ordered, *one.stuck) if event >= 0}

    def _wait(self, waits: Iterable[tuple[int, int]]) -> bool:
        """True when something has ended."""
        changed = False
        for track, count in waits:
            mine = self._tracks.get(track)
            if mine is None or not (mine.ordered or mine.stuck):
                continue
            main = self._model.main_track[track]
            if count == 0 and main == track:
                changed = True
                mine.clear()
                for shadow in self._model.shadows_of[track]:
                    if shadow in self._tracks:
                        self._tracks[shadow].clear()
            else:
                ended = mine.aged(count)
                if count == 0:
                    ended += mine.stuck
                changed |= self._end_all(ended, main)
        if changed:
            self._join_masks()
        return changed

    def _end_all(self, events: list[int], track: int) -> bool:
        """End events of a counter. True when there are some."""
        for event in events:
            self._end(event, track)
        if events:
            self._tracks[track].refresh()
        return bool(events)

    def _end(self, event: int, track: int) -> None:
        mine = self._tracks[track]
        mine.ordered.pop(event, None)
        ended = mine.stuck.pop(event, None)
        if ended is not None and ended.breaks_order:
            mine.flat = any(other.breaks_order for other in mine.stuck.values())
        if event >= 0:
            for shadow in self._model.shadows_of[track]:
                other = self._tracks.get(shadow)
                if other:
                    other.ordered.pop(event, None)
                    other.stuck.pop(event, None)

    def _check(self, index: int, effect: Effect, report: Report | None) -> bool:
        """End the events that an instruction needs the end of. True when there are some."""
        touches, writes = effect.touches, effect.writes
        changed = False
        for track, mine in self._tracks.items():
            if not (touches & mine.holds or writes & mine.locks):
                continue
            ended = []
            clocks, capacity = mine.clocks, self._model.capacity[track]
            for event, (order, stamp, one) in mine.ordered.items():
                later = clocks[order] - stamp
                if later >= capacity or (
                    (one.holds & touches or one.locks & writes)
                    and event >= 0
                    and self._judge(index, effect, event, one, later, report)
                ):
                    ended.append(event)
            for event, one in mine.stuck.items():
                if event >= 0 and self._judge(index, effect, event, one, 0, report):
                    ended.append(event)
            changed |= self._end_all(ended, track)
        if changed:
            self._join_masks()
        return changed

    def _judge(
        self, index: int, effect: Effect, producer: int, event: Event, later: int, report: Report | None
    ) -> bool:
        """True when an instruction needs the end of an event."""
        access, overlap = "raw", event.holds & effect.reads
        if not overlap and not (event.write_order and event.write_order == effect.write_order):
            access, overlap = "waw", event.holds & effect.writes
        if not overlap and event.locks & effect.writes and not _ends_others(effect, event.track):
            access, overlap = "war", event.locks & effect.writes
            if self._effects[producer].kind == "message":
                access = "sendmsg"
        if overlap and report:
            report(Race(access, event.track, producer, index, later, overlap, event.certain))
        return bool(overlap)

    def _end_other_orders(self, track: int, stays: int) -> bool:
        mine = self._tracks.get(track)
        if mine is None:
            return False
        others = [event for event, (order, _, _) in mine.ordered.items() if order != stays]
        changed = self._end_all(others, track)
        if changed:
            self._join_masks()
        return changed

    def _counters(self) -> list[int]:
        """The tracks with events that are counters themselves."""
        counters = len(self._model.counters)
        return [track for track in self._tracks if track < counters]

    def _join_masks(self) -> None:
        holds = locks = 0
        for one in self._tracks.values():
            holds |= one.holds
            locks |= one.locks
        self.holds, self.locks = holds, locks


def _ends_others(effect: Effect, track: int) -> bool:
    return any(exclusive == track for exclusive, _ in effect.ends_others)


def event_on(effect: Effect, track: int) -> Event:
    """The event that an instruction raises on a counter."""
    for one in effect.events:
        if one.track == track:
            return one
    raise AssertionError(f"an instruction of kind '{effect.kind}' raises no counter of track {track}")
