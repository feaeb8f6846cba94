"""Small self-contained SVG drawings: live registers along a kernel, its control flow, the time line of a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from asmevo_gate.cost.interval import in_words
from asmevo_gate.report.text import clipped

if TYPE_CHECKING:
    from asmevo_gate.cost.explain import TimelineEntry
    from asmevo_gate.gate.picture import FlowBlock, KernelPicture, LineLoad

_HEAD, _BASE, _STALL, _INK, _GRID = "#2563eb", "#6b7280", "#b45309", "#111827", "#d1d5db"
_MAX_POINTS = 1_000
_MAX_BLOCKS = 120
_BOX = 620.0
"""Width of a block in the control-flow graph, in pixels."""


def _svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    body = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(label, quote=True)}" font-family="sans-serif" '
        f'font-size="11">{body}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = _INK) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def live_registers(picture: KernelPicture, width: float = 720, height: float = 150) -> str:
    """Live VGPRs by line: head as an area, base as a line, and the steps at which a SIMD holds one wave less."""
    left, bottom, top = 44.0, height - 22, 8.0
    loads = _thinned(picture.loads)
    base = _thinned(picture.base_loads)
    if not loads:
        return ""
    most = max(load.vgprs for load in (*loads, *base))
    ceiling = max(most * 1.15, 4)

    def points(shown: Sequence[LineLoad]) -> list[tuple[float, float]]:
        step = (width - left - 8) / max(len(shown) - 1, 1)
        return [(left + i * step, bottom - (bottom - top) * one.vgprs / ceiling) for i, one in enumerate(shown)]

    parts = []
    for vgprs, waves in picture.steps:
        if 0 < vgprs <= ceiling:
            y = bottom - (bottom - top) * vgprs / ceiling
            parts.append(f'<path d="M{left:g} {y:.1f}H{width - 8:g}" stroke="{_GRID}" stroke-dasharray="4 3"/>')
            parts.append(_text(width - 8, y - 2, f"{waves} waves up to {vgprs}", "end", "#6b7280"))
    area = " ".join(f"{x:.1f},{y:.1f}" for x, y in points(loads))
    first, last = points(loads)[0][0], points(loads)[-1][0]
    parts.append(
        f'<polygon points="{first:.1f},{bottom:g} {area} {last:.1f},{bottom:g}" fill="{_HEAD}" opacity="0.35"/>'
    )
    parts.append(f'<polyline points="{area}" fill="none" stroke="{_HEAD}" stroke-width="1.5"/>')
    if base:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points(base))
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{_BASE}" stroke-width="1.5" stroke-dasharray="5 3"/>'
        )
    peak = max(loads, key=lambda one: one.vgprs)
    parts.append(f'<path d="M{left:g} {top:g}V{bottom:g}H{width - 8:g}" fill="none" stroke="{_INK}"/>')
    parts.append(_text(left - 4, top + 8, f"{most}", "end"))
    parts.append(_text(left - 4, bottom, "0", "end"))
    parts.append(_text(left, height - 6, f"line {loads[0].line}"))
    parts.append(_text(width - 8, height - 6, f"line {loads[-1].line}", "end"))
    parts.append(_text((left + width) / 2, height - 6, f"most: {peak.vgprs} VGPRs in line {peak.line}", "middle"))
    return _svg(width, height, parts, f"live VGPRs of {picture.name} by line")


def _thinned(loads: Sequence[LineLoad]) -> list[LineLoad]:
    """At most so many points: of each run of lines the one with the most live registers."""
    size = -(-len(loads) // _MAX_POINTS) if loads else 1
    return [max(loads[i : i + size], key=lambda one: one.vgprs) for i in range(0, len(loads), size)]


def control_flow(picture: KernelPicture) -> str:
    """Blocks in program order with their cycles; jumps forward on the right, back edges on the left."""
    blocks = picture.blocks[:_MAX_BLOCKS]
    if not blocks:
        return ""
    row, box, left = 46.0, 30.0, 200.0
    width, height = left * 2 + _BOX, row * len(blocks) + 10
    parts = []
    for position, block in enumerate(blocks):
        y = 5 + position * row
        shade = ("#eff6ff", "#dbeafe", "#bfdbfe", "#93c5fd")[min(block.loop_depth, 3)]
        parts.append(
            f'<rect x="{left:g}" y="{y:g}" width="{_BOX:g}" height="{box:g}" rx="4" fill="{shade}" stroke="{_INK}"/>'
        )
        parts.append(
            _text(left + 8, y + 13, f"{block.label or f'block {block.number}'}  lines {block.line}-{block.end_line}")
        )
        parts.append(_text(left + 8, y + 26, _block_words(block), colour="#374151"))
        parts += _edges(block, position, blocks, left, row, box)
    if len(picture.blocks) > len(blocks):
        parts.append(_text(left, height - 2, f"{len(picture.blocks) - len(blocks)} more blocks are not drawn"))
    return _svg(width, height, parts, f"control flow of {picture.name}")


def _block_words(block: FlowBlock) -> str:
    clk = f"{in_words(block.cycles)} clk a wave" if block.cycles is not None else "cycles not known"
    return clipped(f"{block.instructions} instructions, {clk}; {block.limited_by}", 108)


def _edges(
    block: FlowBlock, position: int, blocks: Sequence[FlowBlock], left: float, row: float, box: float
) -> Iterator[str]:
    place = {one.number: index for index, one in enumerate(blocks)}
    for successor in block.successors:
        to = place.get(successor)
        if to is None:
            continue
        y1, y2 = 5 + position * row + box, 5 + to * row
        if to == position + 1:
            yield _arrow(f"M{left + _BOX / 2:g} {y1:g}V{y2 - 1:g}", left + _BOX / 2, y2, 0, 1)
            continue
        reach = 24 + 14 * min(abs(to - position), 12)
        side, x = (1, left + _BOX) if to > position else (-1, left)
        start, end = y1 - box / 2, y2 + box / 2
        curve = f"M{x:g} {start:g}C{x + side * reach:g} {start:g} {x + side * reach:g} {end:g} {x + side * 2:g} {end:g}"
        yield _arrow(curve, x, end, -side, 0)


def _arrow(path: str, x: float, y: float, dx: float, dy: float) -> str:
    wing = 4
    back = f"l{-dx * 6 - dy * wing:g} {-dy * 6 - dx * wing:g}"
    forth = f"l{-dx * 6 + dy * wing:g} {-dy * 6 + dx * wing:g}"
    tip = f"M{x:g} {y:g}{back}M{x:g} {y:g}{forth}"
    return f'<path d="{path}" fill="none" stroke="{_INK}"/><path d="{tip}" stroke="{_INK}"/>'


def timeline(entries: Sequence[TimelineEntry], title: str, longest: float = 0.0, width: float = 760) -> str:
    """One row an instruction: when the wave arrived, what it waited for (dashed frame), and its issue (filled).

    ``longest`` clk fill the width: the same for the pictures that are to be compared.
    """
    if not entries:
        return ""
    row, left = 16.0, 300.0
    end = max(entry.end for entry in entries) or 1.0
    scale = (width - left - 12) / max(longest, end)
    parts = [_text(4, 13, title)]
    for number, entry in enumerate(entries, 1):
        y = 6 + number * row
        arrived, start, stop = (left + value * scale for value in (entry.arrived, entry.start, entry.end))
        words = f"{entry.text}: clk {entry.start:g} to {entry.end:g}" + (
            f", waits for {entry.waits_for}" if entry.waits_for else ""
        )
        parts.append(f"<g><title>{escape(words)}</title>")
        parts.append(_text(4, y + 11, entry.text[:46]))
        if start > arrived:
            parts.append(
                f'<rect x="{arrived:.1f}" y="{y:g}" width="{start - arrived:.1f}" height="12" fill="{_STALL}" '
                f'fill-opacity="0.35" stroke="{_STALL}" stroke-dasharray="3 2"/>'
            )
        parts.append(
            f'<rect x="{start:.1f}" y="{y:g}" width="{max(stop - start, 1):.1f}" height="12" fill="{_HEAD}"/></g>'
        )
    height = 6 + (len(entries) + 1) * row + 22
    parts.append(_text(left, height - 6, "0 clk"))
    parts.append(_text(min(left + end * scale, width - 12), height - 6, f"{end:g} clk", "end"))
    return _svg(width, height, parts, title)
