"""The terminal: what changed, what is new, what is not known, the verdict; one line when all is well.

Off a terminal the same lines come out without colour, and rich is not imported at all.
"""

from __future__ import annotations

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
from asmevo_gate.report.ribbon import ribbon_lines, time_lines
from asmevo_gate.report.text import clipped, one_line, plural, visible
from asmevo_gate.report.verdict import (
    RESOLVE,
    VERDICT_WORDS,
    coverage_sentence,
    execution_sentence,
    unknown_lines,
    verdict_sentence,
)

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Finding, Report
    from asmevo_gate.report.context import RenderContext

Span = tuple[str, str]
"""Text and its style; an empty style is plain."""
Line = list[Span]

_LONGEST = 4_000
_SEVERITY_STYLE = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
_WORD_STYLE = {"worse": "red", "better": "green", "not clear": "yellow", "not known": "yellow"}
_VERDICT_STYLE = {
    "pass": "bold green",
    "warn": "bold yellow",
    "fail": "bold red",
    "not_checked": "bold yellow",
}


def render(report: Report, context: RenderContext) -> str:
    """The report for a terminal; an empty string when there was nothing to check."""
    report = arranged(report, context.root)
    quiet = report.verdict == "pass" and report.execution == "complete"
    nothing = not (report.kernels or report.findings or report.coverage.instructions or report.rewrites)
    if quiet and nothing and not context.verbose:
        return ""
    lines: list[Line] = []
    if not quiet or context.verbose:
        parts = (_deltas(report, context), _ribbons(context), _findings(report, context), _rest(report, context))
        for part in parts:
            lines += [*part, []] if part else []
    lines += _verdict(report, context)
    lines = [_no_command(_bounded(line)) for line in lines]
    return _coloured(lines, context.width) if context.colour else _plain(lines)


def _ribbons(context: RenderContext) -> list[Line]:
    """Live registers along each kernel and one wave's time in its hot block, where the pictures were drawn."""
    width = context.width - 8
    return [
        [(visible(line), "")]
        for picture in context.pictures
        for line in (*ribbon_lines(picture, width), *time_lines(picture, width // 2))
    ]


def _bounded(line: Line) -> Line:
    """A line that is too long for a log is cut."""
    if sum(len(text) for text, _ in line) <= _LONGEST:
        return line
    return [(clipped(text, _LONGEST // len(line)), style) for text, style in line]


def _no_command(line: Line) -> Line:
    """A GitHub runner obeys a log line that begins with two colons, as a row for a kernel of such a name
    does."""
    starts = "".join(text for text, _ in line).lstrip().startswith("::")
    return [("> ", ""), *line] if starts else line


def _plain(lines: list[Line]) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def _coloured(lines: list[Line], width: int) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        width=width,
        highlight=False,
        legacy_windows=False,
    )
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)
    return out.getvalue()


def _deltas(report: Report, context: RenderContext) -> list[Line]:
    changes = changed_metrics(report)
    new = new_kernels(report)
    lines: list[Line] = []
    shown = changes[: context.max_rows]
    if shown:
        rows = [_row(change, context.width) for change in shown]
        heads = ("kernel", "metric", "base", "head", "change")
        widths = [max(len(row[i]) for row in [*rows, heads]) for i in range(4)]
        lines.append([(_cells(heads, widths), "bold")])
        for change, row in zip(shown, rows, strict=True):
            lines.append([(_cells(row, widths), ""), (f"  {change.word}", _WORD_STYLE.get(change.word, ""))])
    if tells_cycles(shown):
        lines.append([(CYCLES_NOTE, "dim")])
    if len(changes) > len(shown):
        lines.append([(f"{len(changes) - len(shown):,} more changes in the report", "dim")])
    unchanged = unchanged_kernels(report)
    if unchanged:
        lines.append([(f"{plural(unchanged, 'kernel')} with unchanged numbers", "dim")])
    for kernel in new[: context.max_rows]:
        known = metrics_line(kernel) or "no numbers known"
        lines.append([("new  ", "bold"), (f"{one_line(kernel.name)} ({one_line(kernel.gpu)}): {known}", "")])
    if len(new) > context.max_rows:
        lines.append([(f"{len(new) - context.max_rows:,} more new kernels in the report", "dim")])
    return lines


def _row(change: Change, width: int) -> tuple[str, str, str, str, str]:
    kernel = f"{one_line(change.kernel.name)} ({one_line(change.kernel.gpu)})"
    unit = f" ({change.metric.unit})" if change.metric.unit else ""
    return (
        clipped(kernel, max(width - 60, 24)),
        change.metric.label + unit,
        number_text(change.base),
        number_text(change.head),
        f"{change.arrow} {change.amount}".rstrip(),
    )


def _cells(row: tuple[str, ...], widths: list[int]) -> str:
    padded = [
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=False))
    ]
    return "  ".join([*padded, row[4]])


def _findings(report: Report, context: RenderContext) -> list[Line]:
    found = new_findings(report)
    lines: list[Line] = []
    for finding in found[: context.max_findings]:
        lines += [*_finding(finding, context), []]
    if len(found) > context.max_findings:
        lines.append([(f"{len(found) - context.max_findings:,} more new findings in the report", "bold")])
    return lines[:-1] if lines and not lines[-1] else lines


def _finding(found: Finding, context: RenderContext) -> list[Line]:
    style = _SEVERITY_STYLE[found.severity]
    where = f" in {one_line(found.kernel)}" if found.kernel else ""
    target = f" ({one_line(found.gpu)})" if found.gpu else ""
    lines: list[Line] = [
        [(f"{found.severity}[{one_line(found.rule)}]", style), (f" {one_line(found.message)}", "bold")],
        [("  --> ", "blue"), (f"{one_line(found.file)}:{found.line}:{found.column}{where}{target}", "")],
    ]
    shown = excerpt(found, context.sources)
    gutter = max((len(str(line.line)) for line in shown), default=1)
    for line in shown:
        number = str(line.line).rjust(gutter) if line.line else " " * gutter
        note = "".join([f"   <- {line.note}" if line.note else "", f" in {one_line(line.file)}" if line.file else ""])
        lines.append([(f"{number} | ", "blue"), (line.text, ""), (note, "cyan")])
        if line.caret is not None:
            lines.append([(" " * gutter + " | ", "blue"), (" " * line.caret + "^", style)])
    for step in expansion(found):
        lines.append(
            [
                ("   = ", "blue"),
                (f"expands to {one_line(step.file)}:{step.line}: {one_line(step.text)}", ""),
            ]
        )
    if found.repair:
        lines.append([("   = ", "blue"), (f"repair: {one_line(found.repair)}", "")])
    return lines


def _rest(report: Report, context: RenderContext) -> list[Line]:
    lines: list[Line] = []
    accepted = sum(1 for rewrite in report.rewrites if rewrite.state == "accepted")
    if report.rewrites:
        rejected = len(report.rewrites) - accepted
        lines.append([(f"rewrites: {accepted} proved and accepted, {rejected} rejected", "")])
    for number, what in (
        (len(old_findings(report)), "that base has as well"),
        (len(suppressed_findings(report)), "suppressed with a reason"),
    ):
        if number:
            lines.append([(f"{plural(number, 'finding')} {what}", "dim")])
    lines.append([(f"coverage: {coverage_sentence(report)}", "")])
    if report.skipped and report.verdict != "not_checked":
        lines.append([(f"{plural(len(report.skipped), 'file')} skipped", "dim")])
    unknown, more = unknown_lines(report, 10)
    lines += [[("  not checked: ", "yellow"), (str(line), "")] for line in unknown]
    if more:
        lines.append([(f"  not checked: {more:,} more in the report", "yellow")])
    if report.verdict == "not_checked" or report.coverage.unknown:
        lines.append([(RESOLVE, "")])
    return lines


def _verdict(report: Report, context: RenderContext) -> list[Line]:
    lines: list[Line] = []
    if execution_sentence(report):
        lines.append([(execution_sentence(report), "bold yellow")])
    word = VERDICT_WORDS[report.verdict]
    sentence = verdict_sentence(report, context.fail_on)
    lines.append([(f"asmevo-gate: {word}", _VERDICT_STYLE[report.verdict]), (f": {sentence}", "")])
    return lines
