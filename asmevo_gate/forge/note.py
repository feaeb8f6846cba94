"""The text of the one note on a merge request: the report, then the suggestions that found no line in the diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.forge.suggestion import Suggestion
from asmevo_gate.report import markdown
from asmevo_gate.report.text import markdown_block, markdown_code, markdown_text, plural

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext

_NAME_LINE = re.compile(re.escape(markdown.MARKER) + r"\n<!-- asmevo-gate:name ([\w.-]+) -->\n", re.ASCII)
_SECTION_BYTES = 15_000
_PATCH_LINES = 60


def note_text(
    report: Report,
    context: RenderContext,
    on_lines: int,
    in_note: Sequence[Suggestion],
    left_out: int,
    name: str = "",
) -> str:
    """The note of the gate ``name``. ``on_lines`` suggestions stand at their lines, ``in_note`` are shown here,
    ``left_out`` are only in the patches of the report."""
    section = _section(on_lines, in_note, left_out) + _job(context.full_report)
    room = max(context.size_limit - len(section.encode("utf-8")), 10_000)
    return _named(markdown.render(report, msgspec.structs.replace(context, size_limit=room)) + section, name)


def note_name(body: str) -> str:
    """The name of the gate that wrote a note; "" where it has none."""
    found = _NAME_LINE.match(body)
    return found[1] if found else ""


def _named(text: str, name: str) -> str:
    """The note with the name of its gate, hidden and in the heading."""
    if not name:
        return text
    marked = text.replace(f"{markdown.MARKER}\n", f"{markdown.MARKER}\n<!-- asmevo-gate:name {name} -->\n", 1)
    return marked.replace("## asmevo-gate:", f"## asmevo-gate {markdown_text(name)}:", 1)


def failure_text(message: str, commit: str, address: str, name: str = "") -> str:
    """The note of a run that could not do its work; it takes the place of an older verdict."""
    text = (
        f"{markdown.MARKER}\n## asmevo-gate: not done\n\nThe gate could not do its work on "
        f"{markdown_code(commit[:12])}, so nothing is known about this change:\n\n"
        f"{markdown_text(message)}\n{_job(address)}"
    )
    return _named(text, name)


def _job(address: str) -> str:
    return f"\n[The job]({address}) has all reports.\n" if markdown.is_address(address) else ""


def _section(on_lines: int, in_note: Sequence[Suggestion], left_out: int) -> str:
    if not on_lines and not in_note and not left_out:
        return ""
    parts = ["\n### Suggestions\n\n"]
    if on_lines:
        parts.append(f"{plural(on_lines, 'suggestion')} at the lines of the diff.\n")
    shown = 0
    size = 0
    for suggestion in in_note:
        item = _item(suggestion)
        size += len(item.encode("utf-8"))
        if size > _SECTION_BYTES:
            break
        parts.append(item)
        shown += 1
    left_out += len(in_note) - shown
    if left_out:
        parts.append(f"\n{left_out:,} more in the patches of the report.\n")
    return "".join(parts)


def _item(suggestion: Suggestion) -> str:
    lines = suggestion.patch.rstrip("\n").split("\n")
    if len(lines) > _PATCH_LINES:
        lines = [*lines[:_PATCH_LINES], f"... {len(lines) - _PATCH_LINES} more lines in the patches of the report"]
    where = markdown_code(f"{suggestion.path}:{suggestion.first}")
    return f"\n{where}: {markdown_text(suggestion.title)}\n\n{markdown_block(lines, 'diff')}\n"
