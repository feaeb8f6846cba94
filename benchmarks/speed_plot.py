"""The picture of ``benchmarks/results/check_speed.json``: time against the size of a kernel.

    python -m benchmarks.speed_plot

Writes ``docs/images/check_speed.svg``; ``benchmarks/check_speed.py --write`` does so as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "check_speed.json"
PICTURE = ROOT / "docs" / "images" / "check_speed.svg"
_WIDTH, _HEIGHT = 720.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 210.0, 16.0, 44.0
_INK, _GRID = "#111827", "#d1d5db"
_FIRST = 10_000
"""From this size on the start of Python hardly counts, and growth is judged."""


class Curve(NamedTuple):
    """One measured series: seconds by number of instructions."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]


def growth(points: Sequence[tuple[float, float]]) -> float:
    """The exponent of time against size for the sizes from 10,000 instructions on, by least squares of the
    logarithms: 1 is linear growth, 2 quadratic."""
    found = [(math.log(size), math.log(seconds)) for size, seconds in points if size >= _FIRST]
    mean_x = sum(x for x, _ in found) / len(found)
    mean_y = sum(y for _, y in found) / len(found)
    return sum((x - mean_x) * (y - mean_y) for x, y in found) / sum((x - mean_x) ** 2 for x, _ in found)


def curves(rows: Sequence[dict[str, Any]]) -> list[Curve]:
    """The series of the results."""

    def of(name: str, colour: str, *keys: str) -> Curve:
        return Curve(name, colour, tuple((row["instructions"], sum(row[key] for key in keys)) for row in rows))

    found = [
        of("check, the whole command", "#2563eb", "check"),
        of("llvm-mc and llvm-objdump", "#6b7280", "llvm_mc", "llvm_objdump"),
    ]
    if all("analysis_cpu" in row for row in rows):
        found.insert(1, of("counters and rules alone", "#f59e0b", "analysis_cpu"))
    return found


def drawing(shown: Sequence[Curve]) -> str:
    """A chart with logarithmic axes, in which linear growth is the slope of the dashed lines."""
    sizes = [size for curve in shown for size, _ in curve.points]
    times = [seconds for curve in shown for _, seconds in curve.points]
    x_axis = _Axis(min(sizes), max(sizes), _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis(10 ** math.floor(math.log10(min(times))), max(times) * 1.3, _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<rect width="{_WIDTH:g}" height="{_HEIGHT:g}" fill="#ffffff"/>', *_grid(x_axis, y_axis)]
    for number, curve in enumerate(shown):
        parts += _curve(curve, x_axis, y_axis, _TOP + 14 + 34 * number)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" width="{_WIDTH:g}" '
        f'height="{_HEIGHT:g}" role="img" aria-label="Seconds against instructions of a kernel" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


class _Axis(NamedTuple):
    """A logarithmic scale: ``low`` is drawn at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        power = 10.0 ** math.floor(math.log10(self.low))
        while power <= self.high:
            yield from (step * power for step in (1, 3) if self.low <= step * power <= self.high)
            power *= 10


def _grid(x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    for size in x_axis.ticks():
        x = x_axis.at(size)
        yield f'<path d="M{x:.1f} {y_axis.start:g}V{y_axis.end:g}" stroke="{_GRID}"/>'
        yield _text(x, y_axis.start + 16, f"{size:,.0f}", "middle")
    for seconds in y_axis.ticks():
        y = y_axis.at(seconds)
        yield f'<path d="M{x_axis.start:g} {y:.1f}H{x_axis.end:g}" stroke="{_GRID}"/>'
        yield _text(x_axis.start - 6, y + 4, f"{seconds:g} s", "end")
    yield _text((x_axis.start + x_axis.end) / 2, _HEIGHT - 8, "instructions of one kernel", "middle")


def _curve(curve: Curve, x_axis: _Axis, y_axis: _Axis, legend: float) -> Iterator[str]:
    """A series, a dashed line of linear growth through its last point, and its place in the legend."""
    line = " ".join(f"{x_axis.at(size):.1f},{y_axis.at(seconds):.1f}" for size, seconds in curve.points)
    yield f'<polyline points="{line}" fill="none" stroke="{curve.colour}" stroke-width="2"/>'
    for size, seconds in curve.points:
        yield f'<circle cx="{x_axis.at(size):.1f}" cy="{y_axis.at(seconds):.1f}" r="3" fill="{curve.colour}"/>'
    last_size, last_seconds = curve.points[-1]
    least = max(x_axis.low, last_size * y_axis.low / last_seconds)
    start, end = (least, last_seconds * least / last_size), (last_size, last_seconds)
    (x1, y1), (x2, y2) = ((x_axis.at(size), y_axis.at(seconds)) for size, seconds in (start, end))
    yield (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{curve.colour}" stroke-dasharray="3 4" opacity="0.6"/>'
    )
    x = x_axis.end + 12
    yield f'<path d="M{x:g} {legend - 4:g}h18" stroke="{curve.colour}" stroke-width="2"/>'
    yield _text(x + 24, legend, curve.name)
    yield _text(x + 24, legend + 14, f"grows as size to the {growth(curve.points):.2f}", colour="#6b7280")


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = _INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def write(result: dict[str, Any]) -> None:
    """Draw the figures."""
    PICTURE.write_text(drawing(curves(result["check"])), "utf-8")


if __name__ == "__main__":
    write(json.loads(RESULT.read_text("utf-8")))
