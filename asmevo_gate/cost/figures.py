"""What a sequence of steps costs at an occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from asmevo_gate.cost.explain import limited_by
from asmevo_gate.cost.load import Load, Shared, share
from asmevo_gate.cost.sequence import Open, StepSequence


class Figures(msgspec.Struct, frozen=True, dict=True, eq=False):
    """The cost of a sequence for ``waves`` waves: ``load`` is what one wave asks of the machine, ``shared`` what all of
    them get, ``pipe_use`` the share of the time for which they keep each pipe."""

    sequence: StepSequence
    waves: int
    load: Load
    shared: Shared
    pipe_use: Mapping[str, float]

    @cached_property
    def limited_by(self) -> str:
        """What decides the cycles, in words."""
        return limited_by(self.sequence, self.shared, self.waves)


def figures_of(sequence: StepSequence, waves: int, *, active_simds: int | None = None, pending: Open = ()) -> Figures:
    """The figures of a sequence; see :func:`~asmevo_gate.cost.block.block_cost`. Remembered."""
    if sequence.loop:
        pending = ()
    asked = (waves, active_simds, pending)
    known = sequence.figures.get(asked)
    if known is None:
        low, high = sequence.own_times(pending)
        load = Load(low, high, sequence.use, sequence.bytes, len(sequence.steps))
        shared = share(load, sequence.timing, waves, active_simds)
        use = shared.pipe_use(sequence.timing)
        known = sequence.figures[asked] = Figures(sequence, waves, load, shared, use)
    return known
