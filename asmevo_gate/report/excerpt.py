"""The source lines of a finding, from its producer to its place, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.report.text import clipped, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asmevo_gate.gate.result import Finding, Location

_WIDEST = 160


class ExcerptLine(msgspec.Struct, frozen=True):
    """One line: ``note`` says what part it plays (``producer``); ``caret`` is the 0-based column to point at.

    ``file`` is given only where it is not the file of the finding.
    """

    file: str
    line: int
    text: str
    note: str = ""
    caret: int | None = None


def excerpt(found: Finding, sources: Mapping[str, str], steps: int = 4) -> list[ExcerptLine]:
    """Producer, at most ``steps`` lines of the path between, and the place itself; lines without text are
    left out."""
    lines: list[ExcerptLine] = []

    def add(file: str, line: int, text: str, note: str = "", caret: int | None = None) -> None:
        if text.strip():
            lines.append(ExcerptLine("" if file == found.file else file, line, text, note, caret))

    ends = [(found.file, found.line)]
    if found.producer:
        add(found.producer.file, found.producer.line, _shown(found.producer.text), "producer")
        ends.append((found.producer.file, found.producer.line))
    between = [step for step in found.path if (step.file, step.line) not in ends]
    for step in between[:steps]:
        add(step.file, step.line, _shown(step.text), "on the path")
    if len(between) > steps:
        lines.append(ExcerptLine("", 0, f"... {len(between) - steps} more on the path"))
    raw = place_text(found, sources)
    before = raw[: max(found.column - 1, 0)]
    caret = len(_shown(before)) if found.column > 0 and len(before) < len(raw.rstrip()) else None
    add(found.file, found.line, _shown(raw), "", caret if caret is not None and caret < _WIDEST else None)
    return lines


def expansion(found: Finding) -> tuple[Location, ...]:
    """The steps from the macro use that the finding stands at down to the line inside the macro."""
    return tuple(step for step in found.macro if (step.file, step.line) != (found.file, found.line))


def place_text(found: Finding, sources: Mapping[str, str]) -> str:
    """The line of the finding as it stands in the file, or as the path has it; empty when nobody knows it."""
    if found.text:
        return found.text.rstrip("\r\n")
    if found.file in sources:
        lines = sources[found.file].split("\n")
        if 0 < found.line <= len(lines):
            return lines[found.line - 1].rstrip("\r")
    same = [step.text for step in found.path if (step.file, step.line) == (found.file, found.line)]
    return same[-1] if same else ""


def _shown(text: str) -> str:
    return clipped(visible(text.rstrip("\r\n").replace("\t", "    ")), _WIDEST)
