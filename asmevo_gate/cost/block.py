"""What a run of instructions costs on one SIMD, for one wave and for the waves that share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from asmevo_gate.cost.body import Body, own_times
from asmevo_gate.cost.explain import Explanation, TimelineEntry
from asmevo_gate.cost.fingerprint import Fingerprint
from asmevo_gate.cost.interval import Cycles
from asmevo_gate.cost.load import Load, share
from asmevo_gate.cost.timing import Timing, timing_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction


@dataclass(frozen=True)
class BlockCost:
    """The cost of a run of instructions.

    ``cycles`` are clk for one pass of every wave (one iteration of a loop body in steady state). ``ipc`` counts the
    instructions of all waves a clk and SIMD. ``pipe_use`` is the share of the time (at the low end) for which the
    waves keep a pipe. ``not_modelled`` lists instructions without meaning on the target, which cost nothing here, and
    those whose timing nobody published; ``assumptions`` what stood in for figures that nobody published.
    """

    cycles: Cycles
    ipc: Cycles
    instructions: int
    waves: int
    loop: bool
    pipe_use: Mapping[str, float]
    not_modelled: tuple[str, ...]
    assumptions: tuple[str, ...]
    load: Load = field(repr=False)
    """What one wave asks of the machine."""
    _explanation: Explanation = field(repr=False, compare=False)

    @cached_property
    def timeline(self) -> tuple[TimelineEntry, ...]:
        """The instructions of one pass of one wave in time."""
        return tuple(self._explanation.entries())

    @cached_property
    def limited_by(self) -> str:
        """What decides the cycles, in words."""
        return self._explanation.limited_by()


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
    open_counters = _open_counters(body.timing, pending) if pending and not body.loop else {}
    low, high = own_times(body, open_counters)
    load = Load(low, high, body.use, body.bytes, len(body.steps))
    shared = share(load, body.timing, waves, active_simds)
    return BlockCost(
        shared.cycles, shared.ipc, load.instructions, waves, body.loop, shared.pipe_use, body.not_modelled,
        body.assumptions, load, Explanation(body, shared, waves),
    )  # fmt: skip


def _open_counters(timing: Timing, pending: Mapping[str, float]) -> dict[int, tuple[float, ...]]:
    """At worst every counter that may be open is full of operations that were just issued."""
    return {
        number: (pending[name],) * timing.counter_depth[number]
        for number, name in enumerate(timing.counter_names)
        if name in pending
    }
