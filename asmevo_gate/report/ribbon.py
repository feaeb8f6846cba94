"""Pictures as text, for the terminal and for notes that cannot show a file: live registers and time as rows of bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from asmevo_gate.report.deltas import number_text

if TYPE_CHECKING:
    from asmevo_gate.cost.explain import TimelineEntry
    from asmevo_gate.gate.picture import KernelPicture

_BARS = " ▁▂▃▄▅▆▇█"
_ISSUES, _WAITS = "█", "░"


def ribbon_lines(picture: KernelPicture, width: int = 60) -> Iterator[str]:
    """Live VGPRs along the kernel: head, and base where it differs; both on the scale of the larger peak."""
    heads = [load.vgprs for load in picture.loads]
    bases = [load.vgprs for load in picture.base_loads]
    if not heads:
        return
    most = max((*heads, *bases, 1))
    peak = max(picture.loads, key=lambda load: load.vgprs)
    yield f"{picture.name} ({picture.gpu}): live VGPRs by line, most {peak.vgprs} in line {peak.line}"
    yield f"  head {_bars(heads, most, width)}"
    if bases and bases != heads:
        yield f"  base {_bars(bases, most, width)}"


def time_lines(picture: KernelPicture, width: int = 60) -> Iterator[str]:
    """One wave through the block where the kernel spends most of its time: where it issues and where it stands still;
    head, and base where it differs, on one scale. Nothing where they are equal and nothing waits."""
    line = picture.timeline
    if line is None or not line.head:
        return
    lanes = [("head", line.head), *([("base", line.base)] if line.base and line.base != line.head else [])]
    longest = max(_end(entries) for _, entries in lanes)
    if longest <= 0:
        return
    block = line.label or f"block at line {line.line}"
    yield f"{block}: one wave, memory at its best ({_ISSUES} issues, {_WAITS} waits)"
    for name, entries in lanes:
        told = f"{number_text(_end(entries))} clk, {number_text(standing_still(entries))} of them waiting"
        yield f"  {name} {_strip(entries, longest, width)} {told}{longest_wait(entries)}"
    if limit := limited_by(picture):
        yield f"  all waves: {limit}"


def limited_by(picture: KernelPicture) -> str:
    """What decides the cycles of the block of the time line at head, in words; ``""`` where that is not known."""
    line = picture.timeline.line if picture.timeline is not None else 0
    return next((block.limited_by for block in picture.blocks if block.line == line), "")


def standing_still(entries: Sequence[TimelineEntry]) -> float:
    """Clk for which the wave could not go on."""
    return sum(entry.waited for entry in entries)


def longest_wait(entries: Sequence[TimelineEntry]) -> str:
    """``; longest: 24 for memory (vmcnt)``, or nothing."""
    worst = max(entries, key=lambda entry: entry.waited, default=None)
    if worst is None or worst.waited <= 0:
        return ""
    return f"; longest: {number_text(worst.waited)} for {worst.waits_for or worst.text}"


def _end(entries: Sequence[TimelineEntry]) -> float:
    return max((entry.end for entry in entries), default=0.0)


def _strip(entries: Sequence[TimelineEntry], longest: float, width: int) -> str:
    """A cell for each part of the time, by what the wave did for more than half of it."""
    cells = max(1, round(width * _end(entries) / longest))
    clk = longest / width
    waiting = [0.0] * (cells + 1)
    for entry in entries:
        start, end = entry.arrived / clk, (entry.arrived + entry.waited) / clk
        for cell in range(int(start), min(int(end), cells) + 1):
            waiting[cell] += max(0.0, min(end, cell + 1) - max(start, cell))
    return "".join(_WAITS if share > 0.5 else _ISSUES for share in waiting[:cells])


def _bars(values: Sequence[int], most: int, width: int) -> str:
    size = max(1, -(-len(values) // width))
    peaks = [max(values[i : i + size]) for i in range(0, len(values), size)]
    return "".join(_BARS[-(-value * (len(_BARS) - 1) // most)] for value in peaks)
