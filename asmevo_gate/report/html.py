"""One self-contained HTML page: no network, no script, pictures as inline SVG."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from asmevo_gate.report.arrangement import arranged, new_findings, relative_path
from asmevo_gate.report.deltas import CYCLES_NOTE, Change, changed_metrics, number_text, tells_cycles
from asmevo_gate.report.drawing import control_flow, live_registers, timeline
from asmevo_gate.report.excerpt import excerpt
from asmevo_gate.report.text import clipped, one_line, visible
from asmevo_gate.report.verdict import VERDICT_WORDS, coverage_sentence, unknown_lines, verdict_sentence

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from asmevo_gate.gate.picture import KernelPicture
    from asmevo_gate.gate.result import Finding, Report
    from asmevo_gate.report.context import RenderContext

_MAX_FINDINGS = 500
_MAX_UNKNOWN = 100
_MAX_PICTURES = 40
_MAX_LINES = 3_000
_MARGIN = 12
"""Lines of source shown around a finding and the peak of a file that is too long to show whole."""
_LONGEST = 400
_BAR_REM = 12.0


@dataclass(frozen=True)
class _SourceLine:
    number: int
    text: str
    vgprs: int
    width: float
    severity: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Picture:
    name: str
    gpu: str
    file: str
    live: Markup
    flow: Markup
    block: str
    timelines: tuple[Markup, ...]
    lines: list[_SourceLine] = field(default_factory=list)
    cut: str = ""


def render(report: Report, context: RenderContext) -> str:
    """The page. Every text from outside is escaped (autoescape); drawings escape what they show."""
    report = arranged(report, context.root)
    found = new_findings(report)
    changes = changed_metrics(report)
    return _template().render(
        report=report,
        verdict=VERDICT_WORDS[report.verdict],
        sentence=verdict_sentence(report, context.fail_on),
        coverage=coverage_sentence(report),
        changes=[_change(change) for change in changes],
        note=CYCLES_NOTE if tells_cycles(changes) else "",
        findings=[_finding(one, context) for one in found[:_MAX_FINDINGS]],
        more_findings=max(len(found) - _MAX_FINDINGS, 0),
        unknown=[f"{one.place}: {one.text} {one.reason}" for one in unknown_lines(report, _MAX_UNKNOWN)[0]],
        pictures=[_picture(one, report, context) for one in context.pictures[:_MAX_PICTURES]],
        tool=f"{report.tool.name} {report.tool.version}, data {report.tool.data_version}",
        command=one_line(report.command),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("asmevo_gate.report", "templates")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("report.html.j2")


def _change(change: Change) -> dict[str, str]:
    return {
        "kernel": visible(f"{change.kernel.name} ({change.kernel.gpu})"),
        "metric": f"{change.metric.label} ({change.metric.unit})" if change.metric.unit else change.metric.label,
        "base": number_text(change.base),
        "head": number_text(change.head),
        "change": f"{change.arrow} {change.amount}",
        "word": change.word,
    }


def _finding(found: Finding, context: RenderContext) -> dict[str, str]:
    lines = [
        f"{line.line:>6} | {line.text}" + (f"   <- {line.note}" if line.note else "")
        for line in excerpt(found, context.sources)
    ]
    return {
        "severity": found.severity,
        "rule": found.rule,
        "place": visible(f"{found.file}:{found.line}"),
        "kernel": visible(found.kernel),
        "message": one_line(found.message),
        "repair": one_line(found.repair),
        "excerpt": "\n".join(lines),
    }


def _picture(picture: KernelPicture, report: Report, context: RenderContext) -> _Picture:
    from markupsafe import Markup

    path = relative_path(picture.file, context.root)
    line = picture.timeline
    drawn = []
    if line is not None:
        longest = max((entry.end for entry in (*line.head, *line.base)), default=0.0)
        drawn.append(timeline(line.head, "head", longest))
        if line.base and line.base != line.head:
            drawn.append(timeline(line.base, "base", longest))
    lines, cut = _source(picture, path, report, context)
    return _Picture(
        name=visible(picture.name),
        gpu=picture.gpu,
        file=visible(path),
        live=Markup(live_registers(picture)),
        flow=Markup(control_flow(picture)),
        block=visible(line.label or f"the block at line {line.line}") if line is not None else "",
        timelines=tuple(Markup(one) for one in drawn if one),
        lines=lines,
        cut=cut,
    )


def _source(picture: KernelPicture, path: str, report: Report, context: RenderContext) -> tuple[list[_SourceLine], str]:
    """The lines of the kernel with live registers and findings beside them, and what was left out."""
    text = context.sources.get(picture.file) or context.sources.get(path)
    if not text or not picture.loads:
        return [], ""
    lines = text.splitlines()
    loads = {load.line: load.vgprs for load in picture.loads}
    most = max((*loads.values(), 1))
    notes: dict[int, list[Finding]] = {}
    for found in report.findings:
        if found.file == path and found.suppressed is None:
            notes.setdefault(found.line, []).append(found)
    first, last = picture.loads[0].line, min(picture.loads[-1].line, len(lines))
    peak = max(picture.loads, key=lambda load: load.vgprs).line
    shown, cut = _shown_lines(first, last, [peak, *notes])
    return [
        _SourceLine(
            number=number,
            text=clipped(visible(lines[number - 1].replace("\t", "    ")), _LONGEST),
            vgprs=loads.get(number, 0),
            width=round(_BAR_REM * loads.get(number, 0) / most, 2),
            severity=_worst(notes.get(number, [])),
            notes=tuple(f"{one.severity} {one.rule}: {one_line(one.message)}" for one in notes.get(number, [])),
        )
        for number in shown
    ], cut


def _shown_lines(first: int, last: int, around: list[int]) -> tuple[list[int], str]:
    """All lines of a short kernel; of a long one those around its findings and its peak."""
    if last - first < _MAX_LINES:
        return list(range(first, last + 1)), ""
    near = {
        number
        for center in sorted(set(around))[: _MAX_LINES // (2 * _MARGIN)]
        for number in range(center - _MARGIN, center + _MARGIN + 1)
        if first <= number <= last
    }
    return sorted(near), f"{last - first + 1 - len(near):,} further lines are not shown."


def _worst(found: list[Finding]) -> str:
    severities = {one.severity for one in found}
    return next((one for one in ("error", "warning") if one in severities), "")
