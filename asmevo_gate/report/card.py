"""A small picture that stands alone as an SVG file: its own background, light and dark, without fonts or scripts.

The background is part of the picture, so that ink and ground fit together on any page. Where the reader's system is
dark, both change. What colour says is also said by a pattern, a line style or a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from asmevo_gate.report.text import clipped, one_line


class Palette(NamedTuple):
    """Colours by what they are for. Text is drawn in ``ink`` and ``dim`` on ``ground``."""

    ground: str
    ink: str
    dim: str
    grid: str
    head: str
    wait: str
    worse: str
    better: str


LIGHT = Palette("#ffffff", "#1f2328", "#59636e", "#c4ccd4", "#0969da", "#bc4c00", "#b42318", "#1a7f37")
DARK = Palette("#0d1117", "#f0f6fc", "#a3acb5", "#4a525b", "#4493f8", "#f0883e", "#ff7b72", "#3fb950")

WIDTH = 720.0
"""Of every card, in pixels; the forges show notes about as wide."""
TEXT = 12.0
"""Height of the letters, in pixels."""
_LETTER = 7.3
"""Width that a letter of the fixed-width font takes at most, in pixels."""


def fitting(text: str, width: float) -> str:
    """``text`` on one line, cut so that it stays within ``width`` pixels."""
    return clipped(one_line(text), max(int(width / _LETTER), 1))


def words(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "ink") -> str:
    """One line of text; its base line is at ``y``."""
    return f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, hatch: str = "") -> str:
    """A filled rectangle; ``hatch`` names a pattern that is laid over it."""
    place = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    over = f'<rect {place} fill="url(#{hatch})"/>' if hatch else ""
    return f'<rect {place} class="{kind}"/>{over}'


def polyline(points: Iterable[tuple[float, float]], kind: str) -> str:
    """An open line through points."""
    return f'<polyline points="{_points(points)}" class="{kind}"/>'


def polygon(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A filled shape."""
    return f'<polygon points="{_points(points)}" class="{kind}"/>'


def rule(x1: float, x2: float, y: float, kind: str) -> str:
    """A horizontal line."""
    return f'<path d="M{_number(x1)} {_number(y)}H{_number(x2)}" class="{kind}"/>'


def post(x: float, y1: float, y2: float, kind: str) -> str:
    """A vertical line."""
    return f'<path d="M{_number(x)} {_number(y1)}V{_number(y2)}" class="{kind}"/>'


def card(height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """The SVG document. ``title`` and ``description`` are read out by screen readers."""
    name, told = escape(one_line(title)), escape(one_line(description))
    size = f'viewBox="0 0 {_number(WIDTH)} {_number(height)}" width="{_number(WIDTH)}" height="{_number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc">\n'
        f'<title id="title">{name}</title>\n<desc id="desc">{told}</desc>\n'
        f"<style>{_STYLE}</style>\n{_PATTERNS}\n"
        f'<rect x="0.5" y="0.5" width="{_number(WIDTH - 1)}" height="{_number(height - 1)}" rx="6" class="ground"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _colours(palette: Palette) -> str:
    return (
        f".ground{{fill:{palette.ground};stroke:{palette.grid}}}.ink{{fill:{palette.ink}}}.dim{{fill:{palette.dim}}}"
        f".grid{{stroke:{palette.grid}}}.axis{{stroke:{palette.ink}}}.head{{fill:{palette.head}}}"
        f".line{{stroke:{palette.head}}}.base{{stroke:{palette.dim}}}.wait{{fill:{palette.wait}}}"
        f".worse{{fill:{palette.worse}}}.better{{fill:{palette.better}}}.other{{fill:{palette.dim}}}"
        f".hatch{{stroke:{palette.ground}}}"
    )


_STYLE = (
    f"text{{font:{TEXT:g}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}"
    "path,polyline{fill:none;stroke-width:1}.line{stroke-width:2}.base{stroke-width:2;stroke-dasharray:5 3}"
    ".grid{stroke-dasharray:2 3}.area{fill-opacity:.25}.hatch{stroke-width:2}"
    + _colours(LIGHT)
    + f"@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"
)
_PATTERNS = (
    '<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M1 0V6" class="hatch"/></pattern></defs>'
)
