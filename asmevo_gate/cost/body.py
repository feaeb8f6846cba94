"""Instructions made ready for the simulation, and one wave's time for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from asmevo_gate.cost.dependence import Edges, edges_of
from asmevo_gate.cost.pipeline import Operation, Wave, operations
from asmevo_gate.cost.timing import Step, Timing
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction

MAX_STEPS = 8192
"""Instructions after which a loop that has found no steady state is averaged; at least 16 iterations."""
_LONG = 128
"""Instructions from which a body fills all queues in one iteration."""
_WARM_UP = 512
"""Instructions at the end of a loop body that run before its first iteration."""
_MAX_REMEMBERED = 5_000
"""Runs of operations whose times a :class:`~asmevo_gate.cost.timing.Timing` remembers at most."""
_NEARLY = 1e-3
"""Two iterations of a long body that differ by less are a steady state: it can swing by a few clk for ever."""


class Body:
    """Instructions made ready for the simulation."""

    def __init__(
        self, instructions: Iterable[Instruction | Decoded], timing: Timing, loop: bool, taken: Sequence[int] = ()
    ) -> None:
        """``taken`` are positions of conditional branches that are taken, besides the last one of a loop."""
        self.timing = timing
        self.loop = loop
        items = list(instructions)
        self.decoded: list[Decoded] = [item for item in items if isinstance(item, Decoded)]
        self.indices: Sequence[int] = range(len(items))
        self.not_modelled: tuple[str, ...] = ()
        if len(self.decoded) < len(items):
            self._take_instructions(items)
        step_of = timing.step
        self.steps: list[Step] = [step_of(decoded) for decoded in self.decoded]
        self._counts = Counter(map(id, self.steps))
        self._kinds = dict(zip(map(id, self.steps), self.steps, strict=True))
        distinct = self._kinds.values()
        if not all(step.timed for step in distinct):
            self.not_modelled += tuple(
                dict.fromkeys(one.text for one, step in zip(self.decoded, self.steps, strict=True) if not step.timed)
            )
        self.assumptions = tuple(dict.fromkeys(step.assumption for step in distinct if step.assumption))
        self.varies = any(step.shortest != step.longest or step.open_wait for step in distinct)
        self.bytes = sum(step.bytes * self._counts[id(step)] for step in distinct)
        self.edges = edges_of(self.decoded, self.steps, timing, loop)
        self.taken = (*taken, len(self.steps) - 1) if loop else tuple(taken)
        self.carried = _carried(self.edges) if loop else ()
        self.use = self._pipe_use()

    def _pipe_use(self) -> tuple[float, ...]:
        """Clk for which one wave keeps each pipe in one pass."""
        use = [0.0] * (len(self.timing.pipe_names) + 1)
        for step in self._kinds.values():
            use[step.pipe] += step.busy * self._counts[id(step)]
            use[step.port] += step.port_busy * self._counts[id(step)]
        return tuple(use[:-1])

    def _take_instructions(self, items: Sequence[Instruction | Decoded]) -> None:
        """Decoded texts, their positions in the function, and the texts that have no meaning."""
        self.decoded, indices = [], []
        not_modelled: dict[str, None] = {}
        for index, item in enumerate(items):
            if isinstance(item, Decoded):
                self.decoded.append(item)
                indices.append(index)
            elif item.decoded is not None:
                self.decoded.append(item.decoded)
                indices.append(item.index)
            else:
                not_modelled[item.unknown.text if item.unknown else ""] = None
        self.indices = indices
        self.not_modelled = tuple(not_modelled)

    @cached_property
    def operations(self) -> list[Operation]:
        """The steps at their places."""
        return operations(self.steps, self.edges, self.timing, self.taken)


def _carried(edges: Sequence[Edges]) -> tuple[int, ...]:
    """Positions whose results the next iteration of a loop body asks for."""
    found: dict[int, None] = {}
    for position, into in enumerate(edges):
        if into:
            for producer, _ in into:
                if producer >= position:
                    found[producer] = None
    return tuple(found)


def own_times(body: Body, pending: Mapping[int, Sequence[float]]) -> tuple[float, float]:
    """Clk of one pass of one wave with the shortest and with the longest memory latencies; see :func:`own_time`.

    Remembered by the operations: the blocks of an unrolled kernel differ in their registers and seldom in their time.
    """
    key = (body.loop, body.varies, tuple(body.operations), tuple(sorted(pending.items())))
    remembered = body.timing.own_times
    known = remembered.get(key)
    if known is None:
        low = own_time(body, long_memory=False)
        high = low
        if body.varies or pending:
            high = max(low, own_time(body, long_memory=True, pending=pending))
        if len(remembered) >= _MAX_REMEMBERED:
            remembered.clear()
        known = remembered[key] = (low, high)
    return known


def own_time(body: Body, *, long_memory: bool, pending: Mapping[int, Sequence[float]] | None = None) -> float:
    """Clk of one pass of one wave; of one iteration in steady state for a loop."""
    wave = Wave(body.timing, len(body.steps), long_memory=long_memory, pending=pending)
    ready = body.operations
    if not body.loop:
        return wave.run(ready)
    # What the end of the body leaves behind is usually all that the next iteration finds.
    tail = max(0, len(ready) - _WARM_UP)
    first = before = wave.run(ready[tail:], tail)
    shape = wave.shape(body.carried)
    last = 0.0
    iterations = max(16, MAX_STEPS // max(1, len(ready)))
    for iteration in range(iterations):
        now = wave.run(ready)
        length, shape_now = now - before, wave.shape(body.carried)
        if shape_now == shape:
            return length
        if iteration and len(ready) >= _LONG and abs(length - last) <= _NEARLY * length:
            return (length + last) / 2
        before, last, shape = now, length, shape_now
    return (before - first) / iterations
