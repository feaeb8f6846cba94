"""What a run of instructions costs on one SIMD, for one wave and for the waves that share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from asmevo_gate.cost.body import Body, body_of
from asmevo_gate.cost.explain import TimelineEntry, time_line
from asmevo_gate.cost.figures import Figures, figures_of
from asmevo_gate.cost.fingerprint import Fingerprint
from asmevo_gate.cost.interval import Cycles
from asmevo_gate.cost.load import Load
from asmevo_gate.cost.sequence import Open
from asmevo_gate.cost.timing import timing_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction


class BlockCost(msgspec.Struct, frozen=True, dict=True):
    """The cost of a run of instructions.

    ``cycles`` are clk for one pass of every wave (one iteration of a loop body in steady state). ``ipc`` counts the
    instructions of all waves a clk and SIMD. ``pipe_use`` is the share of the time (at the low end) for which the
    waves keep a pipe. ``not_modelled`` lists instructions without meaning on the target, which cost nothing here, and
    those whose timing nobody published; ``assumptions`` what stood in for figures that nobody published. ``load`` is
    what one wave asks of the machine.
    """

    cycles: Cycles
    ipc: Cycles
    instructions: int
    waves: int
    loop: bool
    pipe_use: Mapping[str, float]
    not_modelled: tuple[str, ...]
    assumptions: tuple[str, ...]
    load: Load
    _body: Body
    _figures: Figures

    @cached_property
    def timeline(self) -> tuple[TimelineEntry, ...]:
        """The instructions of one pass of one wave in time."""
        return tuple(time_line(self._body))

    @property
    def limited_by(self) -> str:
        """What decides the cycles, in words."""
        return self._figures.limited_by


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
    numbers = {name: number for number, name in enumerate(timing.counter_names)}
    still_open = tuple(sorted((numbers[name], clk) for name, clk in (pending or {}).items() if name in numbers))
    return body_cost(body_of(instructions, timing, loop), waves, active_simds=active_simds, pending=still_open)


def body_cost(body: Body, waves: int = 1, *, active_simds: int | None = None, pending: Open = ()) -> BlockCost:
    """The cost of instructions made ready; see :func:`block_cost`."""
    sequence = body.sequence
    figures = figures_of(sequence, waves, active_simds=active_simds, pending=pending)
    load, shared = figures.load, figures.shared
    return BlockCost(
        shared.cycles, shared.ipc, load.instructions, waves, sequence.loop, figures.pipe_use, body.not_modelled,
        sequence.assumptions, load, body, figures,
    )  # fmt: skip
