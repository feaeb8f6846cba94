"""The small pictures of one kernel: its live registers by line, its time through a block, its changed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from asmevo_gate.report.card import WIDTH, box, card, fitting, polygon, polyline, post, rule, words
from asmevo_gate.report.deltas import Change, number_text, worst_first
from asmevo_gate.report.ribbon import limited_by, longest_wait, standing_still
from asmevo_gate.report.text import plural

if TYPE_CHECKING:
    from asmevo_gate.cost.explain import TimelineEntry
    from asmevo_gate.gate.picture import KernelPicture, LineLoad

_LEFT, _RIGHT = 48.0, WIDTH - 12.0
_MOST_POINTS = 400
_MOST_ROWS = 12
_ROW = 20.0


def registers_card(picture: KernelPicture) -> str:
    """Live VGPRs by line: head as an area, base as a dashed line, and the steps at which a wave is lost."""
    heads, bases = _thinned(picture.loads), _thinned(picture.base_loads)
    if not heads:
        return ""
    same = [load.vgprs for load in heads] == [load.vgprs for load in bases]
    most = max(load.vgprs for load in (*heads, *bases))
    peak = max(picture.loads, key=lambda load: load.vgprs)
    top, bottom = 44.0, 124.0
    ceiling = max(most * 1.1, 4.0)

    def height(vgprs: float) -> float:
        return bottom - (bottom - top) * vgprs / ceiling

    def curve(loads: Sequence[LineLoad]) -> list[tuple[float, float]]:
        step = (_RIGHT - _LEFT) / max(len(loads) - 1, 1)
        return [(_LEFT + at * step, height(load.vgprs)) for at, load in enumerate(loads)]

    title = f"live VGPRs of {picture.name} ({picture.gpu}), by line"
    told = f"Head needs at most {plural(peak.vgprs, 'VGPR')}, in line {peak.line}."
    parts = [words(12, 20, fitting(title, WIDTH - 24))]
    for vgprs, waves in picture.steps:
        if 0 < vgprs <= ceiling:
            parts.append(rule(_LEFT, _RIGHT, height(vgprs), "grid"))
            parts.append(words(_RIGHT, height(vgprs) - 3, f"{waves} waves up to {vgprs}", anchor="end", kind="dim"))
    points = curve(heads)
    parts.append(polygon([(points[0][0], bottom), *points, (points[-1][0], bottom)], "head area"))
    parts.append(polyline(points, "line"))
    legend = "head and base alike" if same else "solid: head"
    if bases and not same:
        before = max(picture.base_loads, key=lambda load: load.vgprs)
        told += f" Base needed at most {before.vgprs}, in line {before.line}."
        parts.append(polyline(curve(bases), "base"))
        legend += ", dashed: base"
    parts += [post(_LEFT, top, bottom, "axis"), rule(_LEFT, _RIGHT, bottom, "axis")]
    parts.append(words(_LEFT - 6, height(most) + 4, f"{most}", anchor="end"))
    parts.append(words(_LEFT - 6, bottom, "0", anchor="end"))
    parts.append(words(_LEFT, bottom + 17, f"line {heads[0].line}", kind="dim"))
    parts.append(words(_RIGHT, bottom + 17, f"line {heads[-1].line}", anchor="end", kind="dim"))
    middle = f"most: {peak.vgprs} in line {peak.line} ({legend})"
    parts.append(words((_LEFT + _RIGHT) / 2, bottom + 17, middle, anchor="middle"))
    return card(bottom + 30, title, told, parts)


def time_card(picture: KernelPicture) -> str:
    """One wave through the block where the kernel spends most of its time: issuing (plain) and standing still
    (striped), at base and at head on one scale."""
    line = picture.timeline
    if line is None or not line.head:
        return ""
    lanes = [("base", line.base), ("head", line.head)] if line.base else [("head", line.head)]
    longest = max(_end(entries) for _, entries in lanes) or 1.0
    block = line.label or f"the block at line {line.line}"
    title = f"one wave through {block} of {picture.name}, with memory at its best"
    told = []
    parts = [words(12, 20, fitting(title, WIDTH - 24))]
    y = 34.0
    for name, entries in lanes:
        end, still = _end(entries), standing_still(entries)
        sentence = f"{name}: {number_text(end)} clk, {number_text(still)} of them waiting{longest_wait(entries)}"
        told.append(f"{sentence}.")
        parts += [words(12, y + 12, name), *_lane(entries, y, longest)]
        parts.append(words(_LEFT, y + 31, fitting(sentence.partition(": ")[2], _RIGHT - _LEFT), kind="dim"))
        y += 42
    if limit := limited_by(picture):
        told.append(f"All waves of head: {limit}.")
        parts.append(words(12, y + 10, fitting(f"all waves: {limit}", WIDTH - 24)))
        y += 20
    parts.append(box(_LEFT, y, 14, 10, "head"))
    parts.append(words(_LEFT + 20, y + 10, "issuing", kind="dim"))
    parts.append(box(_LEFT + 100, y, 14, 10, "wait", "stripes"))
    parts.append(words(_LEFT + 120, y + 10, "waiting", kind="dim"))
    return card(y + 22, title, " ".join(told), parts)


def changes_card(changes: Sequence[Change]) -> str:
    """A bar for each number of a kernel that changed, by its share of base, with the numbers and the word."""
    shown = [change for change in worst_first(changes) if change.difference]
    if not shown:
        return ""
    kernel = shown[0].kernel
    title = f"what changed in {kernel.name} ({kernel.gpu})"
    parts, told = [words(12, 20, fitting(title, WIDTH - 24))], []
    y = 30.0
    for change in shown[:_MOST_ROWS]:
        numbers = f"{number_text(change.base)} -> {number_text(change.head)}"
        text = f"{change.word}: {numbers}  {change.arrow} {change.amount}"
        told.append(f"{change.metric.label}: {text}.")
        parts += [words(12, y + 14, fitting(change.metric.label, 166)), *_bar(change, y)]
        parts.append(words(_BAR_END + 8, y + 14, fitting(text, WIDTH - _BAR_END - 14)))
        y += _ROW
    if len(shown) > _MOST_ROWS:
        parts.append(words(12, y + 14, f"{len(shown) - _MOST_ROWS} more", kind="dim"))
        y += _ROW
    parts.append(post(_BAR_ZERO, 28, y, "axis"))
    return card(y + 10, title, " ".join(told), parts)


_BAR_ZERO, _BAR_END = 219.0, 256.0
_KINDS = {"worse": ("worse", "stripes"), "better": ("better", "")}


def _bar(change: Change, y: float) -> Iterator[str]:
    """To the right what grew, to the left what shrank; a change by the whole of base or more fills its side."""
    difference, base = change.difference or 0.0, change.base_middle
    share = max(-1.0, min(1.0, difference / base if base else difference))
    length = max(abs(share) * (_BAR_END - _BAR_ZERO), 1.0)
    kind, hatch = _KINDS.get(change.word, ("other", ""))
    yield box(_BAR_ZERO if share > 0 else _BAR_ZERO - length, y + 4, length, 12, kind, hatch)


def _lane(entries: Sequence[TimelineEntry], y: float, longest: float) -> Iterator[str]:
    scale = (_RIGHT - _LEFT) / longest
    for start, end, waits in _stretches(entries):
        yield box(_LEFT + start * scale, y, (end - start) * scale, 16, *(("wait", "stripes") if waits else ("head",)))


def _stretches(entries: Sequence[TimelineEntry]) -> Iterator[tuple[float, float, bool]]:
    """The time of a wave as stretches in which it issues or stands still: from, to, whether it stands still."""
    pieces = [
        piece
        for entry in entries
        for piece in (
            (entry.arrived, entry.arrived + entry.waited, True),
            (entry.arrived + entry.waited, entry.end, False),
        )
        if piece[1] > piece[0]
    ]
    at = 0
    while at < len(pieces):
        start, end, waits = pieces[at]
        while at + 1 < len(pieces) and pieces[at + 1][2] == waits:
            at += 1
            end = pieces[at][1]
        yield start, end, waits
        at += 1


def _end(entries: Sequence[TimelineEntry]) -> float:
    return max((entry.end for entry in entries), default=0.0)


def _thinned(loads: Sequence[LineLoad]) -> list[LineLoad]:
    """At most so many points: of each run of lines the one with the most live registers."""
    size = -(-len(loads) // _MOST_POINTS) if loads else 1
    return [max(loads[at : at + size], key=lambda load: load.vgprs) for at in range(0, len(loads), size)]
