"""The pictures beside a Markdown report: which kernels have some, in which files, and the Markdown that shows them.

A page that lies beside its pictures shows them as images. One that does not (a note on a merge request, a step
summary) shows text instead: a forge cannot reach the files of a job, and a broken image says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from asmevo_gate.report.arrangement import relative_path
from asmevo_gate.report.deltas import Change, hot_block_changes, kernel_changes
from asmevo_gate.report.kernel_cards import changes_card, registers_card, time_card
from asmevo_gate.report.ribbon import ribbon_lines, time_lines
from asmevo_gate.report.text import clipped, markdown_block, markdown_code, markdown_text

if TYPE_CHECKING:
    from asmevo_gate.gate.picture import KernelPicture
    from asmevo_gate.gate.result import KernelReport, Report
    from asmevo_gate.report.context import RenderContext

MOST_KERNELS = 24
"""Kernels of a page that have pictures."""
_NAME = 120
_SUFFIX = "-pictures"
FILE_PATTERN = "[0-9][0-9][0-9]-*.svg"
"""Names of picture files, as a glob."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: the end of its file's name, what it shows in a few words, and the SVG."""

    kind: str
    shows: str
    svg: str


@dataclass(frozen=True, slots=True)
class KernelDrawings:
    """All pictures of one kernel; ``number`` (from 1) and ``name`` make the names of the files."""

    number: int
    name: str
    gpu: str
    picture: KernelPicture | None
    drawings: tuple[Drawing, ...]

    def file(self, drawing: Drawing) -> str:
        """The name of a picture's file: letters, digits, hyphens and underscores only."""
        slug = re.sub(r"[^A-Za-z0-9_]+", "-", self.name)[:40].strip("-")
        return "-".join(filter(None, (f"{self.number:03}", slug, drawing.kind))) + ".svg"


def kernel_drawings(report: Report, context: RenderContext) -> tuple[list[KernelDrawings], int]:
    """The pictures of the kernels that are new or changed, in the order of the (arranged) report, and how many more
    such kernels there are."""
    worth = list(_worth_drawing(report, context))
    drawn = []
    for number, (kernel, picture, changes) in enumerate(worth[:MOST_KERNELS], 1):
        cards = [Drawing("changes", "changed numbers", changes_card(changes))]
        if picture is not None:
            cards.append(Drawing("registers", "live registers by line", registers_card(picture)))
            cards.append(Drawing("time", "issue and waits of one wave", time_card(picture)))
        shown = tuple(card for card in cards if card.svg)
        drawn.append(KernelDrawings(number, kernel.name, kernel.gpu, picture, shown))
    return drawn, len(worth) - len(drawn)


def _worth_drawing(
    report: Report, context: RenderContext
) -> Iterator[tuple[KernelReport, KernelPicture | None, list[Change]]]:
    pictures = {
        (relative_path(picture.file, context.root), picture.name, picture.gpu): picture for picture in context.pictures
    }
    for kernel in report.kernels:
        numbers = [*kernel_changes(kernel), *hot_block_changes(kernel)]
        changes = [change for change in numbers if change.word not in ("same", "new")]
        picture = pictures.get((kernel.file, kernel.name, kernel.gpu))
        if changes or (picture and (kernel.base is None or picture.loads != picture.base_loads)):
            yield kernel, picture, changes


def picture_directory(page: Path) -> Path:
    """Where the pictures of the Markdown file ``page`` lie: ``asmevo-pictures`` beside ``asmevo.md``."""
    return page.with_name(f"{page.stem}{_SUFFIX}")


def picture_files(drawings: list[KernelDrawings]) -> Iterator[tuple[str, str]]:
    """File name and SVG of every picture."""
    for kernel in drawings:
        for drawing in kernel.drawings:
            yield kernel.file(drawing), drawing.svg


def as_images(kernel: KernelDrawings, base: str) -> str:
    """Markdown that shows the pictures of a kernel; ``base`` is the address of their directory, with a slash."""
    images = [
        f"![{markdown_text(clipped(kernel.name, _NAME))}: {drawing.shows}]({base}{kernel.file(drawing)})"
        for drawing in kernel.drawings
    ]
    return f"{_heading(kernel)}\n\n" + "\n\n".join(images) + "\n\n" if images else ""


def as_text(kernel: KernelDrawings) -> str:
    """Markdown that shows live registers and time of a kernel as text."""
    if kernel.picture is None:
        return ""
    lines = [*list(ribbon_lines(kernel.picture))[1:], *time_lines(kernel.picture)]
    peak = max(kernel.picture.loads, key=lambda load: load.vgprs, default=None)
    if not lines or peak is None:
        return ""
    shown = [f"live VGPRs by line, most {peak.vgprs} in line {peak.line}", *(clipped(line, 200) for line in lines)]
    return f"{_heading(kernel)}\n\n{markdown_block(shown, 'text')}\n\n"


def _heading(kernel: KernelDrawings) -> str:
    return f"{markdown_code(clipped(kernel.name, _NAME))} ({markdown_text(kernel.gpu)})"
