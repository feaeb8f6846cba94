"""Instructions made ready for the simulation, and one wave's time for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from asmevo_gate.cost.dependence import Edges, edges_of
from asmevo_gate.cost.pipeline import Operation, Wave, operations
from asmevo_gate.cost.timing import Step, Timing
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction

MAX_STEPS = 8192
"""Instructions after which a loop that has found no steady state is averaged; at least 16 iterations."""
_LONG = 128
"""Instructions from which a body fills all queues in one iteration."""
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
        self.decoded: list[Decoded] = []
        self.indices: list[int] = []
        not_modelled: dict[str, None] = {}
        for index, instruction in enumerate(instructions):
            if isinstance(instruction, Instruction):
                decoded = instruction.decoded
                if decoded is None:
                    not_modelled[instruction.unknown.text if instruction.unknown else ""] = None
                    continue
                index = instruction.index
                self.decoded.append(decoded)
            else:
                self.decoded.append(instruction)
            self.indices.append(index)
        step_of = timing.step
        self.steps: list[Step] = [step_of(decoded) for decoded in self.decoded]
        self.not_modelled = tuple(not_modelled)
        self._counts = Counter(map(id, self.steps))
        self._kinds = {id(step): step for step in self.steps}
        distinct = self._kinds.values()
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

    def operations(self, long_memory: bool) -> list[Operation]:
        """The steps at their places."""
        return operations(self.steps, self.edges, self.timing, long_memory=long_memory, taken=self.taken)


def _carried(edges: Sequence[Edges]) -> tuple[int, ...]:
    """Positions whose results the next iteration of a loop body asks for."""
    return tuple(
        dict.fromkeys(producer for position, into in enumerate(edges) for producer, _ in into if producer >= position)
    )


def own_time(body: Body, *, long_memory: bool, pending: Mapping[int, Sequence[float]] | None = None) -> float:
    """Clk of one pass of one wave; of one iteration in steady state for a loop."""
    wave = Wave(body.timing, len(body.steps), pending)
    ready = body.operations(long_memory)
    if not body.loop:
        return wave.run(ready)
    first = before = wave.run(ready)
    shape = wave.shape(body.carried)
    last = 0.0
    iterations = max(16, MAX_STEPS // max(1, len(ready)))
    for _ in range(1, iterations):
        now = wave.run(ready)
        length, shape_now = now - before, wave.shape(body.carried)
        if shape_now == shape:
            return length
        if len(ready) >= _LONG and abs(length - last) <= _NEARLY * length:
            return (length + last) / 2
        before, last, shape = now, length, shape_now
    return (before - first) / (iterations - 1)
