"""What may be in flight at one point of a program.

For every event that may still be in flight the state holds one number: how many events of the same order were
surely issued after it, the smallest over all paths. A wait for ``n`` surely ends exactly the events with at
least ``n`` later ones (if such an event were in flight, so were its successors of the same order, and the
counter would stand above ``n``). This is exact per order also when events of other orders are counted by the
same counter, as they can only raise it.

Why the data flow over these states converges, on every graph:

- A state is a map from (track, event) to a number of ``{ABSENT} + {STUCK, -1, 0, .. capacity - 1}``, ordered
  by "allows more behaviour": ``STUCK`` > -1 > 0 > .. > ``ABSENT``, and three finite sets that only grow with
  it. The lattice is finite, its height at most (tracks * instructions * 66).
- ``joined`` is the pointwise join of that order (the smaller number; the union).
- :meth:`Walk.step <asmevo_gate.analysis.pending_walk.Walk.step>` is monotone: what it removes or adds (waits, issue,
  capacity, overwriting, calls) is decided per event from its own number and from the instruction, and a larger number
  is removed whenever a smaller one is. The one condition on *other* events (an event that breaks the order makes others
  ``STUCK``) goes the right way.

So a worklist ends with the least fixed point. As every step also distributes over ``joined``, that fixed point
is the join over all paths: what is reported happens on a path of the graph, and nothing on such a path is
missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

STUCK = -2
"""In place of the number of later events: only a wait for 0 ends this event."""

Events = Mapping[int, int]
"""An event -> the number of later ones, or :data:`STUCK`. An event is the index ``i`` of its instruction, or ``~i`` for
the condition "``i`` was the first fill of LDS and nothing that fills LDS has ended"."""

NO_EVENTS: Events = {}


class State(NamedTuple):
    """What may be in flight before an instruction. Never changed once made, so that states may share their parts.

    ``tracks`` holds the events of each track that has some. ``lds_empty``: LDS may never have been filled. ``arrived``
    / ``passed``: LDS writes that may have been in flight at the last barrier, as (event, barrier instruction), before
    and after all waves have reached it.
    """

    tracks: Mapping[int, Events]
    lds_empty: bool = False
    arrived: frozenset[tuple[int, int]] = frozenset()
    passed: frozenset[tuple[int, int]] = frozenset()

    def on(self, track: int) -> Events:
        """The events of one track."""
        return self.tracks.get(track, NO_EVENTS)

    def joined(self, other: State) -> State:
        """The join of both states; this state itself when ``other`` adds nothing to it."""
        if other is self:
            return self
        tracks = _joined_tracks(self.tracks, other.tracks)
        lds_empty = self.lds_empty or other.lds_empty
        arrived = self.arrived if other.arrived <= self.arrived else self.arrived | other.arrived
        passed = self.passed if other.passed <= self.passed else self.passed | other.passed
        if tracks is self.tracks and lds_empty == self.lds_empty and arrived is self.arrived and passed is self.passed:
            return self
        return State(tracks, lds_empty, arrived, passed)

    def size(self) -> int:
        """Number of events held; the unit of work of a join."""
        return sum(map(len, self.tracks.values())) + len(self.arrived) + len(self.passed)


def _joined_tracks(mine: Mapping[int, Events], theirs: Mapping[int, Events]) -> Mapping[int, Events]:
    changed: dict[int, Events] = {}
    for track, events in theirs.items():
        known = mine.get(track)
        if known is None:
            changed[track] = events
        elif known is not events:
            more = {event: later for event, later in events.items() if later < known.get(event, later + 1)}
            if more:
                changed[track] = {**known, **more}
    return {**mine, **changed} if changed else mine


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
