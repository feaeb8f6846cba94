"""What a run of instructions costs on one SIMD, for one wave and for the waves that share it.

A single wave is simulated: in-order issue, dependences, pipes, waits. Several waves overlap, so that a pass takes the
longer of one wave's own time and the time for which all waves together keep the busiest pipe. How waves are
chosen is not published; the bound assumes that an idle pipe always finds a ready wave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from asmevo_gate.cost.dependence import Edges, edges_of
from asmevo_gate.cost.fingerprint import Fingerprint
from asmevo_gate.cost.interval import Cycles, cycles, high_of, low_of
from asmevo_gate.cost.pipeline import Event, Operation, Wave, operations
from asmevo_gate.cost.timing import Kind, Step, Timing, timing_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction

MAX_ITERATIONS = 16
"""Iterations after which a loop that has found no steady state is averaged."""
_SAME = 1e-6
_NEARLY = 1e-3
"""Two iterations that differ by less are a steady state (long bodies can swing by a few clk for ever)."""

PIPE_WORDS = {
    "valu": "VALU",
    "complex": "transcendental, FP64 and multiply unit",
    "matrix": "matrix core",
    "salu": "scalar ALU",
    "lds": "LDS port",
    "smem": "scalar memory path",
    "vmem": "vector memory path",
    "branch": "branch unit",
    "internal": "issue of waits and nops",
}


class TimelineEntry(msgspec.Struct, frozen=True):
    """One instruction on the time line of a single wave, with memory at its best.

    The wave had arrived at ``arrived``, the instruction started at ``start``; ``end`` is when the wave could go on.
    ``waits_for`` says in words what delayed it, ``""`` when nothing did.
    """

    index: int
    text: str
    unit: str
    arrived: float
    start: float
    end: float
    waits_for: str


@dataclass(frozen=True)
class BlockCost:
    """The cost of a run of instructions.

    ``cycles`` are clk for one pass of every wave (one iteration of a loop body in steady state). ``ipc`` counts the
    instructions of all waves a clk and SIMD. ``pipe_use`` is the share of the time (at the low end) for which the
    waves keep a pipe. ``not_modelled`` lists instructions without meaning on the target, which cost nothing here;
    ``assumptions`` what stood in for figures that nobody published.
    """

    cycles: Cycles
    ipc: Cycles
    instructions: int
    waves: int
    loop: bool
    pipe_use: Mapping[str, float]
    not_modelled: tuple[str, ...]
    assumptions: tuple[str, ...]
    _trace: _Trace = field(repr=False, compare=False)

    @cached_property
    def timeline(self) -> tuple[TimelineEntry, ...]:
        """The instructions of one pass of one wave in time."""
        return tuple(self._trace.entries())

    @cached_property
    def limited_by(self) -> str:
        """What decides the cycles, in words."""
        return self._trace.limited_by(self)


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

    def _pipe_use(self) -> list[float]:
        """Clk for which one wave keeps each pipe in one pass."""
        use = [0.0] * (len(self.timing.pipe_names) + 1)
        for step in self._kinds.values():
            use[step.pipe] += step.busy * self._counts[id(step)]
            use[step.port] += step.port_busy * self._counts[id(step)]
        use[-1] = 0.0
        return use

    def operations(self, long_memory: bool) -> list[Operation]:
        """The steps at their places."""
        return operations(self.steps, self.edges, self.timing, long_memory=long_memory, taken=self.taken)


def _carried(edges: Sequence[Edges]) -> tuple[int, ...]:
    """Positions whose results the next iteration of a loop body asks for."""
    return tuple(
        dict.fromkeys(producer for position, into in enumerate(edges) for producer, _ in into if producer >= position)
    )


class _Trace:
    """Explains a cost on demand."""

    def __init__(self, body: Body, bound: float, pipe: int, own: float, memory_bound: float) -> None:
        self._body = body
        self._bound = bound
        self._pipe = pipe
        self._own = own
        self._memory_bound = memory_bound

    @cached_property
    def _events(self) -> list[Event]:
        body = self._body
        wave = Wave(body.timing, len(body.steps))
        operations = body.operations(long_memory=False)
        if body.loop:
            wave.run(operations)
            wave.run(operations)
        return wave.trace(operations)

    def entries(self) -> Iterable[TimelineEntry]:
        body = self._body
        first = self._events[0].arrived if self._events else 0.0
        for event, step in zip(self._events, body.steps, strict=True):
            yield TimelineEntry(
                body.indices[event.position], body.decoded[event.position].text, step.name, event.arrived - first,
                event.start - first, event.end - first, self._cause(event),
            )  # fmt: skip

    def _cause(self, event: Event) -> str:
        body = self._body
        if event.cause == "result":
            return f"the result of '{body.decoded[event.producer].text}'"
        if event.cause == "pipe":
            return f"the {PIPE_WORDS.get(body.timing.pipe_names[event.detail], 'pipe')}"
        if event.cause == "queue":
            return "room in the vector queue"
        if event.cause == "memory":
            return f"memory ({body.timing.counter_names[event.detail]})"
        if event.cause == "full":
            return f"room in {body.timing.counter_names[event.detail]}"
        return ""

    def limited_by(self, cost: BlockCost) -> str:
        if not self._body.steps:
            return "nothing: no instruction"
        words = self._best_case(cost)
        if high_of(cost.cycles) > low_of(cost.cycles):
            if self._memory_bound >= high_of(cost.cycles) * (1 - _SAME):
                return f"memory bandwidth at worst; {words} at best"
            return f"memory latency at worst; {words} at best"
        return words

    def _best_case(self, cost: BlockCost) -> str:
        timing = self._body.timing
        total = low_of(cost.cycles)
        if self._bound >= total * (1 - _SAME) and self._bound > 0:
            name = PIPE_WORDS.get(timing.pipe_names[self._pipe], timing.pipe_names[self._pipe])
            return f"throughput of the {name}" + (f" ({cost.waves} waves share it)" if cost.waves > 1 else "")
        shares = self._shares()
        words, share = max(shares.items(), key=lambda item: item[1])
        return f"{words} ({share:.0%} of one wave's time)"

    def _shares(self) -> dict[str, float]:
        """What one wave spends its time on, as shares of the whole."""
        body = self._body
        names = body.timing.pipe_names
        spent: dict[str, float] = {}
        for event, step in zip(self._events, body.steps, strict=True):
            stalled = event.start - event.arrived
            if step.kind == Kind.RUN_AHEAD:
                stalled = min(stalled, event.end - event.arrived - step.slot)
            if stalled > 0:
                cause = self._stall(event, names)
                spent[cause] = spent.get(cause, 0.0) + stalled
            issue = _HOLDS.get(step.name, "issue, one instruction at a time")
            spent[issue] = spent.get(issue, 0.0) + (event.end - event.arrived - max(0.0, stalled))
        total = sum(spent.values()) or 1.0
        return {words: clk / total for words, clk in spent.items()}

    def _stall(self, event: Event, names: Sequence[str]) -> str:
        if event.cause == "result":
            pipe = names[self._body.steps[event.producer].pipe]
            return f"waiting for results of the {PIPE_WORDS.get(pipe, pipe)}"
        if event.cause == "pipe":
            return f"throughput of the {PIPE_WORDS.get(names[event.detail], names[event.detail])}"
        if event.cause == "queue":
            return f"waiting for results of the {PIPE_WORDS['valu']}"
        return f"waiting for memory ({self._body.timing.counter_names[event.detail]})"


_HOLDS = {
    "s_nop": "s_nop",
    "s_sleep": "s_sleep",
    "branch": "taken branches",
    "barrier": "barriers",
}


def block_cost(
    instructions: Iterable[Instruction | Decoded],
    fingerprint: Fingerprint,
    waves: int = 1,
    *,
    wave_size: int | None = None,
    loop: bool = False,
    active_simds: int | None = None,
    pending: Mapping[str, float] | None = None,
) -> BlockCost:
    """The cost of a run of instructions.

    Args:
        waves: waves on each SIMD that run the same code at the same time.
        wave_size: lanes of a wave; the smallest of the target when not given.
        loop: the run is a loop body: cycles are those of one iteration in steady state, its last branch taken.
        active_simds: SIMDs of the CU (or WGP) that have waves; all when not given.
        pending: memory counters on which operations may be open when the run starts, with the longest time in clk
            that such an operation takes; at worst it was just issued.

    Raises:
        GateError: the target has no waves of that size.
    """
    size = wave_size if wave_size is not None else fingerprint.wave_sizes[0]
    timing = timing_for(fingerprint.target, size)
    return body_cost(Body(instructions, timing, loop), waves, active_simds=active_simds, pending=pending)


def body_cost(
    body: Body, waves: int = 1, *, active_simds: int | None = None, pending: Mapping[str, float] | None = None
) -> BlockCost:
    """The cost of instructions made ready; see :func:`block_cost`."""
    timing = body.timing
    open_counters = _open_counters(timing, pending) if pending and not body.loop else {}
    low = _passes(body, long_memory=False, pending={})
    high = _passes(body, long_memory=True, pending=open_counters) if body.varies or open_counters else low
    simds = int(timing.fingerprint.structure_number("simds"))
    active = min(simds, active_simds) if active_simds else simds
    bound, pipe = 0.0, -1
    for number, shared in enumerate(timing.shared_by):
        needed = body.use[number] * waves * min(shared, active)
        if needed > bound:
            bound, pipe = needed, number
    memory_bound = _dram_bound(body, waves, active)
    total = cycles(max(low, bound), max(high, bound, memory_bound, low))
    issued = waves * len(body.steps)
    least, most = low_of(total), high_of(total)
    return BlockCost(
        total,
        cycles(issued / most if most else 0.0, issued / least if least else 0.0),
        len(body.steps), waves, body.loop,
        {
            name: min(1.0, body.use[number] * waves * min(timing.shared_by[number], active) / least)
            for number, name in enumerate(timing.pipe_names)
            if body.use[number] and least
        },
        body.not_modelled, body.assumptions, _Trace(body, bound, pipe, low, memory_bound),
    )  # fmt: skip


def _open_counters(timing: Timing, pending: Mapping[str, float]) -> dict[int, list[float]]:
    """At worst every counter that may be open is full of operations that were just issued."""
    return {
        number: [pending[name]] * timing.counter_depth[number]
        for number, name in enumerate(timing.counter_names)
        if name in pending
    }


def _dram_bound(body: Body, waves: int, active: int) -> float:
    """Clk for which the memory traffic of all waves keeps a CU's share of the DRAM bandwidth."""
    moved = body.bytes
    fingerprint = body.timing.fingerprint
    if not moved or not fingerprint.memory.dram_bytes_per_clk.known:
        return 0.0
    sharing = min(active, fingerprint.structure_number("simds_per_cu"))
    return moved * waves * sharing / fingerprint.memory.dram_bytes_per_clk.number


def _passes(body: Body, *, long_memory: bool, pending: dict[int, list[float]]) -> float:
    """Clk of one pass of one wave; of one iteration in steady state for a loop."""
    wave = Wave(body.timing, len(body.steps), pending)
    ready = body.operations(long_memory)
    if not body.loop:
        return wave.run(ready)
    first = before = wave.run(ready)
    shape = wave.shape(body.carried)
    last = 0.0
    for _ in range(1, MAX_ITERATIONS):
        now = wave.run(ready)
        length, shape_now = now - before, wave.shape(body.carried)
        if shape_now == shape:
            return length
        if abs(length - last) <= _NEARLY * length:
            return (length + last) / 2
        before, last, shape = now, length, shape_now
    return (before - first) / (MAX_ITERATIONS - 1)
