"""Markdown for a merge-request note or a step summary: verdict, what changed, what is new, rewrites, how to
repeat.

The page never exceeds ``context.size_limit`` bytes: what does not fit is counted ("N more in the report").
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from asmevo_gate.report.arrangement import arranged, new_findings, old_findings, suppressed_findings
from asmevo_gate.report.deltas import (
    CYCLES_NOTE,
    Change,
    changed_metrics,
    metrics_line,
    new_kernels,
    number_text,
    tells_cycles,
    unchanged_kernels,
)
from asmevo_gate.report.excerpt import excerpt, expansion
from asmevo_gate.report.gains import rewrite_gains
from asmevo_gate.report.picture_files import as_images, as_text, kernel_drawings
from asmevo_gate.report.text import clipped, markdown_block, markdown_code, markdown_text, one_line, plural
from asmevo_gate.report.verdict import (
    RESOLVE,
    VERDICT_WORDS,
    coverage_sentence,
    execution_sentence,
    unknown_lines,
    verdict_sentence,
)

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Finding, Report, Rewrite
    from asmevo_gate.report.context import RenderContext

MARKER = "<!-- asmevo-gate:note -->"
"""First line of every note, by which a bot finds the note that it edits."""

_NAME = 120
_MESSAGE = 1000
_RESERVE = 600
"""Bytes kept free for the "N more" lines and headings."""


class _Page:
    """Text that grows until its limit in bytes."""

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self.left = limit

    def add(self, text: str, reserve: int = 0) -> bool:
        """Appends ``text`` if ``reserve`` bytes are still free after it; says whether it did."""
        size = len(text.encode("utf-8"))
        if size + reserve > self.left:
            return False
        self.parts.append(text)
        self.left -= size
        return True

    def add_items(self, heading: str, items: list[str], total: int, more: str, reserve: int) -> None:
        """A heading and as many items as fit; then how many of ``total`` are missing, in the words of
        ``more``."""
        shown = 0
        if items and self.add(heading, reserve):
            for item in items:
                if not self.add(item, reserve):
                    break
                shown += 1
        if shown < total:
            self.add(f"\n{total - shown:,} {more}\n", 0)


def render(report: Report, context: RenderContext) -> str:
    """The note. Names and messages are escaped: they show as they are and do nothing."""
    report = arranged(report, context.root)
    footer = _footer(report, context)
    page = _Page(context.size_limit)
    page.add(f"{MARKER}\n## asmevo-gate: {VERDICT_WORDS[report.verdict]}\n\n")
    page.add(f"{markdown_text(verdict_sentence(report, context.fail_on))}\n")
    if execution_sentence(report):
        page.add(f"\n**{markdown_text(execution_sentence(report))}**\n")
    place = _report_place(context)
    reserve = len(footer.encode("utf-8")) + _RESERVE
    _deltas(page, report, context, place, reserve)
    found = new_findings(report)
    items = [_finding(finding, context) for finding in found[: context.max_findings]]
    page.add_items("\n### New findings\n\n", items, len(found), f"more in the {place}.", reserve)
    _pictures(page, report, context, place, reserve)
    _rewrites(page, report, context, place, reserve)
    _not_checked(page, report, place, reserve)
    page.add(footer)
    return "".join(page.parts)


def _deltas(page: _Page, report: Report, context: RenderContext, place: str, reserve: int) -> None:
    changes = changed_metrics(report)
    head = "\n### Changes\n\n| Kernel | Metric | Base | Head | Change | |\n| :-- | :-- | --: | --: | --: | :-- |\n"
    rows = [_row(change) for change in changes[: context.max_rows]]
    page.add_items(head, rows, len(changes), f"more changes in the {place}.", reserve)
    if tells_cycles(changes[: context.max_rows]):
        page.add(f"\n{CYCLES_NOTE}\n", reserve)
    unchanged = unchanged_kernels(report)
    if unchanged:
        page.add(f"\n{plural(unchanged, 'kernel')} with unchanged numbers.\n", reserve)
    new = new_kernels(report)
    items = [
        f"- {_name(kernel.name)} ({markdown_text(kernel.gpu)}): "
        f"{markdown_text(metrics_line(kernel) or 'no numbers known')}\n"
        for kernel in new[: context.max_rows]
    ]
    page.add_items("\n### New kernels\n\n", items, len(new), f"more new kernels in the {place}.", reserve)


def _row(change: Change) -> str:
    unit = f" ({change.metric.unit})" if change.metric.unit else ""
    word = f"**{change.word}**" if change.word == "worse" else change.word
    return (
        f"| {_name(change.kernel.name, in_table=True)} ({markdown_text(change.kernel.gpu)}) "
        f"| {markdown_text(change.metric.label)}{unit} | {number_text(change.base)} | {number_text(change.head)} "
        f"| {f'{change.arrow} {change.amount}'.rstrip()} | {word} |\n"
    )


def _name(name: str, in_table: bool = False) -> str:
    return markdown_code(clipped(name, _NAME), in_table)


def _finding(found: Finding, context: RenderContext) -> str:
    where = f" in {_name(found.kernel)}" if found.kernel else ""
    target = f" ({markdown_text(found.gpu)})" if found.gpu else ""
    help_text = context.help_for(found.rule)
    rule = markdown_code(found.rule)
    if help_text is not None and is_address(help_text.uri):
        rule = f"[{rule}]({help_text.uri})"
    parts = [
        f"**{found.severity}** {rule} at {_name(f'{found.file}:{found.line}')}{where}{target}: "
        f"{markdown_text(clipped(found.message, _MESSAGE))}\n"
    ]
    shown = excerpt(found, context.sources)
    gutter = max((len(str(line.line)) for line in shown), default=1)
    lines = []
    for line in shown:
        number = str(line.line).rjust(gutter) if line.line else " " * gutter
        note = (f"   <- {line.note}" if line.note else "") + (f" in {line.file}" if line.file else "")
        lines.append(f"{number} | {line.text}{note}")
    if lines:
        parts.append(f"\n{markdown_block(lines)}\n")
    steps = ", ".join(_name(f"{step.file}:{step.line}") for step in expansion(found)[:5])
    if steps:
        parts.append(f"\nExpands to {steps}.\n")
    if found.repair:
        parts.append(f"\nRepair: {markdown_text(clipped(found.repair, _MESSAGE))}\n")
    return "".join(parts) + "\n"


def _pictures(page: _Page, report: Report, context: RenderContext, place: str, reserve: int) -> None:
    """Registers and time of the changed kernels: as images where the page lies beside them, else as text."""
    kernels, more = kernel_drawings(report, context)
    shown = [as_images(one, context.pictures_at) if context.pictures_at else as_text(one) for one in kernels]
    items = [item for item in shown if item]
    page.add_items("\n### Registers and time\n\n", items, len(items) + more, f"more in the {place}.", reserve)


def _rewrites(page: _Page, report: Report, context: RenderContext, place: str, reserve: int) -> None:
    accepted = [rewrite for rewrite in report.rewrites if rewrite.state == "accepted"]
    rejected = Counter(one_line(r.class_) for r in report.rewrites if r.state == "rejected")
    items = [_rewrite(rewrite) for rewrite in accepted[: context.max_findings]]
    page.add_items("\n### Rewrites\n\n", items, len(accepted), f"more rewrites in the {place}.", reserve)
    if rejected:
        classes = ", ".join(f"{number:,} {markdown_text(name)}" for name, number in sorted(rejected.items())[:20])
        page.add(f"\nRejected: {classes}.\n", reserve)


def _rewrite(rewrite: Rewrite) -> str:
    lines = [f"- {_name(rewrite.kernel)}, {_name(rewrite.region)}: {markdown_text(clipped(rewrite.reason, 300))}"]
    lines += [f"  - {markdown_text(clipped(gain, 200))}" for gain in rewrite_gains(rewrite.metrics)]
    if rewrite.proof.strip():
        lines.append(f"  - shown equal: {markdown_text(clipped(rewrite.proof, 200))}")
    return "\n".join(lines) + "\n"


def _not_checked(page: _Page, report: Report, place: str, reserve: int) -> None:
    unknown, more = unknown_lines(report, 10)
    if not unknown and report.verdict != "not_checked":
        return
    items = [
        f"- {markdown_code(line.place)}{f' {markdown_code(line.text)}' if line.text else ''}: "
        f"{markdown_text(line.reason)}\n"
        for line in unknown
    ]
    page.add_items("\n### Not checked\n\n", items, len(unknown) + more, f"more in the {place}.", reserve)
    page.add(f"\n{markdown_text(RESOLVE)}\n", reserve)


def _footer(report: Report, context: RenderContext) -> str:
    counts = [
        f"{plural(number, 'finding')} {what}"
        for number, what in (
            (len(old_findings(report)), "that base has as well"),
            (len(suppressed_findings(report)), "suppressed with a reason"),
        )
        if number
    ]
    tool = report.tool
    facts = [
        f"{coverage_sentence(report)}",
        *counts,
        f"{tool.name} {tool.version}, data {tool.data_version}",
        *([f"assembler {tool.assembler}"] if tool.assembler else []),
    ]
    lines = ["\n---\n" + markdown_text(clipped("; ".join(facts), _MESSAGE)) + ".\n"]
    if report.command:
        lines.append(f"\nReproduce: {markdown_code(clipped(report.command, _MESSAGE))}\n")
    if report.inputs:
        digests = ", ".join(f"{_name(i.file)} {markdown_code(i.sha256[:12])}" for i in report.inputs[:5])
        more = f" and {len(report.inputs) - 5:,} more" if len(report.inputs) > 5 else ""
        lines.append(f"\nInputs (SHA-256): {digests}{more}\n")
    return "".join(lines)


def _report_place(context: RenderContext) -> str:
    if is_address(context.full_report):
        return f"[report]({context.full_report})"
    return f"report ({markdown_code(context.full_report)})" if context.full_report else "report"


def is_address(text: str) -> bool:
    """Whether a text is a plain web address that a Markdown link can hold."""
    return re.fullmatch(r"https?://[\w\-./~%?&=#:+@,;]+", text, re.ASCII) is not None
