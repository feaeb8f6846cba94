"""What several waves on one SIMD cost together.

How the hardware chooses among waves is not published. Waves that run the same code overlap, so that together they take
the longer of one wave's own time and the time for which all of them keep the busiest pipe; an idle pipe is assumed
to find a ready wave.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.cost.interval import Cycles, cycles, low_of
from asmevo_gate.cost.timing import Timing


class Load(msgspec.Struct, frozen=True):
    """What one wave asks of the machine in one pass: its own time, clk of each pipe, bytes of vector memory."""

    low: float
    high: float
    use: tuple[float, ...]
    bytes: float
    instructions: int


class Shared(msgspec.Struct, frozen=True):
    """A load as all waves see it.

    ``cycles`` is clk for one pass of every wave, ``ipc`` instructions of all waves a clk and SIMD. ``needed`` are the
    clk for which all waves together keep each pipe, ``pipe`` is the busiest (-1: none), kept for ``pipe_bound`` clk.
    ``memory_bound`` is the time that the traffic takes when it all comes from DRAM.
    """

    cycles: Cycles
    ipc: Cycles
    needed: tuple[float, ...]
    pipe: int
    pipe_bound: float
    memory_bound: float

    def pipe_use(self, timing: Timing) -> dict[str, float]:
        """The share of the time, at its low end, for which the waves keep each pipe that they use."""
        least = low_of(self.cycles)
        pairs = zip(timing.pipe_names, self.needed, strict=True)
        return {name: min(1.0, clk / least) for name, clk in pairs if clk and least}


def share(load: Load, timing: Timing, waves: int, active_simds: int | None = None) -> Shared:
    """The load of ``waves`` waves on each of ``active_simds`` SIMDs (all of the CU or WGP when not given)."""
    active = min(timing.simds, active_simds) if active_simds else timing.simds
    pipes = zip(load.use, timing.shared_by, strict=True)
    needed = tuple([use * waves * (shared if shared < active else active) for use, shared in pipes])
    pipe_bound = max(needed, default=0.0)
    pipe = needed.index(pipe_bound) if pipe_bound else -1
    memory_bound = _dram_bound(load.bytes, timing, waves, active)
    low = max(load.low, pipe_bound)
    high = max(load.high, low, memory_bound)
    issued = waves * load.instructions
    ipc = cycles(issued / high, issued / low) if low else 0.0
    return Shared(cycles(low, high), ipc, needed, pipe, pipe_bound, memory_bound)


def _dram_bound(moved: float, timing: Timing, waves: int, active: int) -> float:
    """Clk for which the traffic of all waves keeps a CU's (or WGP's) share of the DRAM bandwidth."""
    memory = timing.fingerprint.memory
    if not moved or not memory.dram_bytes_per_clk.known:
        return 0.0
    sharing = min(active, timing.fingerprint.structure_number("simds_per_cu"))
    return moved * waves * sharing / memory.dram_bytes_per_clk.number
