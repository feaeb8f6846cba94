"""One wave going through the machine: when each instruction starts, and what it waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from asmevo_gate.cost.dependence import Edges
from asmevo_gate.cost.timing import Kind, Step, Timing

_NEVER = float("-inf")
_TWO_PIPES = 5
"""Added to the kind of an operation that holds a port besides its pipe."""
_RUN_AHEAD = (int(Kind.RUN_AHEAD), int(Kind.RUN_AHEAD) + _TWO_PIPES)

Operation = tuple[tuple[int, Any], Edges]
"""A step at its place: its kind with the data that this kind needs (see :func:`_data`), and the edges into it."""


class Event(NamedTuple):
    """One instruction of a trace: it was next at ``arrived``, started at ``start`` and held its wave until ``end``.

    ``cause`` says what delayed it: ``""``, ``result`` (of the instruction at ``producer``), ``pipe``, ``queue``,
    ``memory`` (``detail`` is the counter) or ``full`` (a memory counter at its largest value).
    """

    position: int
    arrived: float
    start: float
    end: float
    cause: str
    producer: int
    detail: int


def operations(
    steps: Sequence[Step], edges: Sequence[Edges], timing: Timing, taken: Sequence[int] = ()
) -> list[Operation]:
    """The steps as the inner loop takes them. ``edges`` may be empty: nothing waits for a result. ``taken`` are the
    positions of conditional branches that are taken."""
    distinct = dict(zip(map(id, steps), steps, strict=True))
    made = {identity: _data(step, timing) for identity, step in distinct.items()}
    entries = map(made.__getitem__, map(id, steps))
    result: list[Operation] = list(zip(entries, edges or repeat((), len(steps)), strict=True))
    if any(step.delays for step in distinct.values()):
        for position, step in enumerate(steps):
            for distance in step.delays:
                _hold(result, position + distance)
    for position in set(taken):
        if 0 <= position < len(result) and steps[position].taken_extra and not steps[position].always_taken:
            (kind, data), incoming = result[position]
            result[position] = ((kind, data + steps[position].taken_extra), incoming)
    return result


def _hold(result: list[Operation], position: int) -> None:
    """Make the operation wait for its operands before it leaves the wave."""
    if position < len(result) and result[position][0][0] in _RUN_AHEAD:
        (kind, data), incoming = result[position]
        result[position] = ((kind - Kind.RUN_AHEAD, data), incoming)


def _data(step: Step, timing: Timing) -> tuple[int, Any]:
    """Kind and data of an operation; the tuples are unpacked in :meth:`Wave.run`."""
    kind = int(step.kind)
    if kind <= Kind.RUN_AHEAD:
        if step.port >= 0:
            return kind + _TWO_PIPES, (step.pipe, step.busy, step.slot, step.port, step.port_busy)
        return kind, (step.pipe, step.busy, step.slot)
    if kind == Kind.MEMORY:
        return kind, (step.pipe, step.busy, step.slot, step.counters, step.shortest, step.longest)
    if kind == Kind.WAIT:
        most = tuple((counter, 0) for counter in range(len(timing.counter_names)))
        return kind, (step.slot, step.limits, most if step.open_wait else step.limits)
    return kind, step.slot + (step.taken_extra if step.always_taken else 0.0)


class Wave:
    """The state of one wave and of the pipes as it alone sees them.

    ``long_memory`` chooses the longest memory latencies; ``pending`` are completion times of memory operations that
    were open before, a counter at a time.
    """

    def __init__(
        self,
        timing: Timing,
        length: int,
        *,
        long_memory: bool = False,
        pending: Mapping[int, Sequence[float]] | None = None,
    ) -> None:
        self.long_memory = int(long_memory)
        self.front = 0.0
        """When the wave may issue its next instruction."""
        self.free = [0.0] * (len(timing.pipe_names) + 1)
        """When each pipe is free again; the last entry belongs to instructions without a pipe."""
        self.starts = [_NEVER] * length
        self.queue = [_NEVER] * max(1, timing.run_ahead)
        """Starts of the latest vector instructions, the oldest at ``turn``."""
        self.turn = 0
        self.pending: list[list[float]] = [[] for _ in timing.counter_names]
        """When each open memory operation of a counter completes, in order."""
        for counter, times in (pending or {}).items():
            self.pending[counter] = list(times)
        self.depth = timing.counter_depth

    def run(self, body: Sequence[Operation], first: int = 0) -> float:
        """Let the wave run the body once more; the clk at which it may issue what follows.

        ``first`` is the position of the first operation, for a body that is only a part.
        """
        front, free, starts = self.front, self.free, self.starts
        queue, turn, length = self.queue, self.turn, len(self.queue)
        pending, depth = self.pending, self.depth
        which_latency, which_limits = 4 + self.long_memory, 1 + self.long_memory
        position = first
        for (kind, data), edges in body:
            start = front
            if kind == 1 or kind == 6:  # RUN_AHEAD
                if queue[turn] > start:
                    start = queue[turn]
                front = start + data[2]
                for producer, latency in edges:
                    ready = starts[producer] + latency
                    if ready > start:
                        start = ready
                pipe = data[0]
                if free[pipe] > start:
                    start = free[pipe]
                if kind == 6:
                    port = data[3]
                    if free[port] > start:
                        start = free[port]
                    free[port] = start + data[4]
                free[pipe] = start + data[1]
                queue[turn] = start
                turn = turn + 1 if turn + 1 < length else 0
                starts[position] = start
                position += 1
                continue
            for producer, latency in edges:
                ready = starts[producer] + latency
                if ready > start:
                    start = ready
            if kind == 0:  # IN_ORDER
                pipe, busy, slot = data
                if free[pipe] > start:
                    start = free[pipe]
                free[pipe] = start + busy
                front = start + slot
            elif kind == 2:  # MEMORY
                pipe = data[0]
                counters = data[3]
                for counter in counters:
                    waiting = pending[counter]
                    if len(waiting) >= depth[counter]:
                        if waiting[0] > start:
                            start = waiting[0]
                        del waiting[0]
                enters = free[pipe] if free[pipe] > start else start
                free[pipe] = enters + data[1]
                done = enters + data[which_latency]
                for counter in counters:
                    waiting = pending[counter]
                    if waiting and waiting[-1] > done:
                        done = waiting[-1]
                    waiting.append(done)
                front = start + data[2]
            elif kind == 3:  # WAIT
                for counter, limit in data[which_limits]:
                    waiting = pending[counter]
                    finished = len(waiting) - limit
                    if finished > 0:
                        if waiting[finished - 1] > start:
                            start = waiting[finished - 1]
                        del waiting[:finished]
                front = start + data[0]
            elif kind == 4:  # HOLD
                front = start + data
            else:  # IN_ORDER with a port
                pipe, busy, slot, port, port_busy = data
                if free[pipe] > start:
                    start = free[pipe]
                if free[port] > start:
                    start = free[port]
                free[pipe] = start + busy
                free[port] = start + port_busy
                front = start + slot
            starts[position] = start
            position += 1
        self.front, self.turn = front, turn
        return front

    def shape(self, carried: Sequence[int]) -> tuple[object, ...]:
        """The state relative to the wave's own time, without what no longer matters.

        Two iterations that end in the same shape take the same time ever after. ``carried`` are the positions whose
        starts the next iteration asks for.
        """
        front = self.front
        queue = self.queue[self.turn :] + self.queue[: self.turn]
        times = (self.free, queue, *self.pending)
        later = tuple(tuple(time - front if time > front else 0.0 for time in some) for some in times)
        return later, tuple(self.starts[position] - front for position in carried)

    def trace(self, body: Sequence[Operation]) -> list[Event]:
        """The same as :meth:`run`, one instruction at a time, with the cause of every delay."""
        events = []
        for position, operation in enumerate(body):
            arrived = self.front
            cause, producer, detail = self._cause(operation, arrived)
            end = self.run((operation,), position)
            events.append(Event(position, arrived, self.starts[position], end, cause, producer, detail))
        return events

    def _cause(self, operation: Operation, arrived: float) -> tuple[str, int, int]:
        """What will hold the operation longest."""
        (kind, data), edges = operation
        latest, cause, producer, detail = arrived, "", -1, -1
        if kind in (1, 6) and self.queue[self.turn] > latest:
            latest, cause = self.queue[self.turn], "queue"
        for position, latency in edges:
            if self.starts[position] + latency > latest:
                latest, cause, producer = self.starts[position] + latency, "result", position
        if kind <= 1 or kind >= _TWO_PIPES:
            for pipe in (data[0], data[3]) if kind >= _TWO_PIPES else (data[0],):
                if self.free[pipe] > latest:
                    latest, cause, detail = self.free[pipe], "pipe", pipe
        elif kind == Kind.MEMORY:
            for counter in data[3]:
                waiting = self.pending[counter]
                if len(waiting) >= self.depth[counter] and waiting[0] > latest:
                    latest, cause, detail = waiting[0], "full", counter
        elif kind == Kind.WAIT:
            for counter, limit in data[1 + self.long_memory]:
                waiting = self.pending[counter]
                finished = len(waiting) - limit
                if finished > 0 and waiting[finished - 1] > latest:
                    latest, cause, detail = waiting[finished - 1], "memory", counter
        return cause, producer, detail
