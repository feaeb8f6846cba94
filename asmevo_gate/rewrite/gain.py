"""What a change of a region is worth: estimated cycles, instructions, live registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo_gate.analysis.regions import Region
from asmevo_gate.analysis.side_effects import is_timing
from asmevo_gate.cost.block import BlockCost, body_cost
from asmevo_gate.cost.body import body_of
from asmevo_gate.cost.interval import high_of, low_of
from asmevo_gate.cost.timing import Timing
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import VGPRS
from asmevo_gate.isa.waits import counter_limits, decode_wait

_SAME = 1e-9
_HINTS = ("s_delay_alu",)
"""Not counted as instructions: leaving hints out is no gain."""


@dataclass(frozen=True)
class Worth:
    """One version of a region.

    ``cycles`` are clk of the region for one wave alone, ``busy`` clk a wave at the kernel's occupancy. ``block_cycles``
    are clk of one wave for the whole basic block with memory at its best, ``block_cycles_high`` at its worst.
    ``waited`` adds up how far the waits go below their counters' largest values.
    """

    cycles: float
    busy: float
    block_cycles: float
    block_cycles_high: float
    ipc: float
    instructions: int
    waited: int
    vgprs_live: int
    vgprs_named: int
    """One more than the highest VGPR that the region names."""

    @property
    def measures(self) -> tuple[float, ...]:
        """What may not get worse."""
        return (self.cycles, self.busy, self.block_cycles, self.block_cycles_high)


@dataclass(frozen=True)
class Surroundings:
    """The rest of the basic block, in front of and behind a region, and whether the block is a loop by itself."""

    before: tuple[Decoded, ...]
    behind: tuple[Decoded, ...]
    loop: bool


def surroundings(region: Region) -> Surroundings:
    """The block around a region."""
    block = region.function.blocks[region.block]
    instructions = region.function.instructions
    before = tuple(one.decoded for one in instructions[block.first : region.first] if one.decoded is not None)
    behind = tuple(one.decoded for one in instructions[region.end : block.end] if one.decoded is not None)
    return Surroundings(before, behind, block.number in block.successors)


def worth(code: Sequence[Decoded], around: Surroundings, timing: Timing, waves: int, live_out: int) -> Worth:
    """What the instructions cost, by themselves and in their block."""
    body = body_of(code, timing, loop=False)
    alone: BlockCost = body_cost(body, 1)
    shared = body_cost(body, waves) if waves > 1 else alone
    block = body_cost(body_of([*around.before, *code, *around.behind], timing, loop=around.loop), 1).cycles
    return Worth(
        cycles=low_of(alone.cycles),
        busy=low_of(shared.cycles) / max(1, shared.waves),
        block_cycles=low_of(block),
        block_cycles_high=high_of(block),
        ipc=low_of(alone.ipc),
        instructions=sum(1 for decoded in code if decoded.base not in _HINTS),
        waited=sum(_waited(decoded, timing) for decoded in code),
        vgprs_live=live_peak(code, live_out),
        vgprs_named=_named(code),
    )


def _named(code: Sequence[Decoded]) -> int:
    touched = 0
    for decoded in code:
        touched |= decoded.reads | decoded.writes
    return (touched & VGPRS).bit_length()


def _waited(decoded: Decoded, timing: Timing) -> int:
    if not decoded.classes & Op.WAIT:
        return 0
    largest = counter_limits(timing.target)
    limits = decode_wait(decoded, timing.target) or {}
    return sum(largest[counter] - count for counter, count in limits.items())


def live_peak(code: Sequence[Decoded], live_out: int) -> int:
    """The largest number of VGPRs that are live at once in straight code."""
    live = live_out & VGPRS
    peak = live.bit_count()
    for decoded in reversed(code):
        peak = max(peak, ((live | decoded.writes) & VGPRS).bit_count())
        live = (live & ~(decoded.writes & ~decoded.keeps) | decoded.reads) & VGPRS
        peak = max(peak, live.bit_count())
    return peak


def no_gain(old: Worth, new: Worth) -> str:
    """Why a change is not worth making; ``""`` when it is.

    It must be slower in no measure, and better in one: cycles, instructions, waits, or live VGPRs.
    """
    names = ("cycles of one wave", "cycles at the kernel's occupancy", "cycles of the block", "cycles with slow memory")
    for name, before, after in zip(names, old.measures, new.measures, strict=True):
        if after > before + _SAME:
            return f"{name} would grow from {before:g} to {after:g}"
    faster = any(after < before - _SAME for before, after in zip(old.measures, new.measures, strict=True))
    smaller = new.instructions < old.instructions or new.waited < old.waited
    fewer = new.vgprs_live < old.vgprs_live or new.vgprs_named < old.vgprs_named
    if not (faster or smaller or fewer):
        return "nothing gets better: the same cycles, instructions, waits and live registers"
    if max(new.vgprs_live - old.vgprs_live, new.vgprs_named - old.vgprs_named) > 0 and not faster:
        return f"VGPRs would grow (live {old.vgprs_live} -> {new.vgprs_live}) for no cycle"
    return ""


def metrics(old: Worth, new: Worth) -> dict[str, float]:
    """The numbers of a rewrite for reports: before, after, and the gain in percent of the cycles."""
    found: dict[str, float] = {}
    for name in (
        "cycles",
        "busy",
        "block_cycles",
        "block_cycles_high",
        "ipc",
        "instructions",
        "vgprs_live",
        "vgprs_named",
    ):
        found[f"{name}_before"] = round(float(getattr(old, name)), 3)
        found[f"{name}_after"] = round(float(getattr(new, name)), 3)
    found["gain_percent"] = round(gain_percent(old, new), 2)
    return found


def gain_percent(old: Worth, new: Worth) -> float:
    """Share of the estimated cycles of one wave that the change saves."""
    return 100 * (old.cycles - new.cycles) / old.cycles if old.cycles else 0.0


def computing(code: Sequence[Decoded]) -> int:
    """Instructions that are neither waits nor padding."""
    return sum(1 for decoded in code if not is_timing(decoded))
