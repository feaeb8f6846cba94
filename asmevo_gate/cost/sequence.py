"""Steps at their places, as the simulation runs them, and one wave's time for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.cost.dependence import Edges
from asmevo_gate.cost.pipeline import Operation, Wave, operations
from asmevo_gate.cost.timing import Kind, Step, Timing

if TYPE_CHECKING:
    from asmevo_gate.cost.figures import Figures

MAX_STEPS = 8192
"""Instructions after which a loop that has found no steady state is averaged; at least 16 iterations."""
_LONG = 128
"""Instructions from which a body fills all queues in one iteration."""
_WARM_UP = 512
"""Instructions at the end of a loop body that run before its first iteration."""
_NEARLY = 1e-3
"""Two iterations of a long body that differ by less are a steady state: it can swing by a few clk for ever."""

Open = tuple[tuple[int, float], ...]
"""Memory counters on which operations may be open when a sequence starts, with the longest time in clk that such an
operation takes."""


class Counters(msgspec.Struct, frozen=True):
    """What a sequence does to the memory counters: bit sets of those that it waits to be zero, and of those that may be
    open at its end because of it; and the longest operation in clk on each that it raises."""

    clears: int
    raises: int
    longest: Open


class StepSequence:
    """The steps of a run of instructions and the waits between them: all of it that decides its time.

    Registers and texts are gone, so that blocks of a kernel that differ in them alone are one sequence, whose time is
    found once (see :func:`~asmevo_gate.cost.body.sequence_of`).
    """

    def __init__(
        self, steps: Sequence[Step], edges: Sequence[Edges], timing: Timing, loop: bool, taken: Sequence[int] = ()
    ) -> None:
        """``edges`` may be empty: nothing waits for a result. ``taken`` are positions of conditional branches that are
        taken, besides the last one of a loop."""
        self.timing = timing
        self.loop = loop
        self.steps = steps
        self.edges = edges
        self.taken = (*taken, len(steps) - 1) if loop else tuple(taken)
        self._counts = Counter(map(id, steps))
        self._distinct = dict(zip(map(id, steps), steps, strict=True)).values()
        self.timed = all(step.timed for step in self._distinct)
        """False when it is not known what one of the steps costs."""
        self.assumptions = tuple(dict.fromkeys(step.assumption for step in self._distinct if step.assumption))
        self.bytes = sum(step.bytes * self._counts[id(step)] for step in self._distinct)
        self.figures: dict[object, Figures] = {}
        """What :func:`~asmevo_gate.cost.figures.figures_of` found, by what it asked."""
        self._longest: dict[Open, float] = {}

    @cached_property
    def use(self) -> tuple[float, ...]:
        """Clk for which one wave keeps each pipe in one pass."""
        use = [0.0] * (len(self.timing.pipe_names) + 1)
        for step in self._distinct:
            use[step.pipe] += step.busy * self._counts[id(step)]
            use[step.port] += step.port_busy * self._counts[id(step)]
        return tuple(use[:-1])

    @cached_property
    def counters(self) -> Counters:
        """What it does to the memory counters."""
        clears = raises = 0
        longest: dict[int, float] = {}
        for step in self.steps:
            for counter in step.counters:
                raises |= 1 << counter
                longest[counter] = max(longest.get(counter, 0.0), step.longest)
            for counter, limit in step.limits:
                if limit == 0:
                    raises &= ~(1 << counter)
                    clears |= 1 << counter
        return Counters(clears, raises, tuple(longest.items()))

    @cached_property
    def operations(self) -> list[Operation]:
        """The steps at their places."""
        return operations(self.steps, self.edges, self.timing, self.taken)

    @cached_property
    def carried(self) -> tuple[int, ...]:
        """Positions whose results the next iteration of a loop body asks for."""
        found: dict[int, None] = {}
        for position, into in enumerate(self.edges):
            for producer, _ in into:
                if producer >= position:
                    found[producer] = None
        return tuple(found)

    @cached_property
    def _shortest(self) -> float:
        """Clk of one pass of one wave with the shortest memory latencies."""
        return own_time(self, long_memory=False)

    @cached_property
    def _varies(self) -> bool:
        """True when memory latency can change its time."""
        return any(step.shortest != step.longest or step.open_wait for step in self._distinct)

    @cached_property
    def _feels_memory(self) -> bool:
        """True when something in it looks at the memory counters."""
        return any(step.kind in (Kind.MEMORY, Kind.WAIT) for step in self._distinct)

    def own_times(self, pending: Open) -> tuple[float, float]:
        """Clk of one pass of one wave with the shortest and with the longest memory latencies; see :func:`own_time`.
        Remembered."""
        low = self._shortest
        if not self._feels_memory or not (self._varies or pending):
            return low, low
        high = self._longest.get(pending)
        if high is None:
            high = max(low, own_time(self, long_memory=True, pending=pending))
            self._longest[pending] = high
        return low, high


def own_time(sequence: StepSequence, *, long_memory: bool, pending: Open = ()) -> float:
    """Clk of one pass of one wave; of one iteration in steady state for a loop.

    At worst every counter that may be open is full of operations that were just issued.
    """
    timing = sequence.timing
    full = {counter: (clk,) * timing.counter_depth[counter] for counter, clk in pending}
    wave = Wave(timing, len(sequence.steps), long_memory=long_memory, pending=full)
    ready = sequence.operations
    if not sequence.loop:
        return wave.run(ready)
    # What the end of the body leaves behind is usually all that the next iteration finds.
    tail = max(0, len(ready) - _WARM_UP)
    first = before = wave.run(ready[tail:], tail)
    shape = wave.shape(sequence.carried)
    last = 0.0
    iterations = max(16, MAX_STEPS // max(1, len(ready)))
    for iteration in range(iterations):
        now = wave.run(ready)
        length, shape_now = now - before, wave.shape(sequence.carried)
        if shape_now == shape:
            return length
        if iteration and len(ready) >= _LONG and abs(length - last) <= _NEARLY * length:
            return (length + last) / 2
        before, last, shape = now, length, shape_now
    return (before - first) / iterations
