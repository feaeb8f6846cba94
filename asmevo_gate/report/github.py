"""GitHub: workflow commands for annotations, and the step summary.

A step shows 10 errors, 10 warnings and 10 notices and drops the rest; a column is refused when an
annotation spans lines; the summary of a step may be 1 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.report import markdown
from asmevo_gate.report.arrangement import arranged, new_findings
from asmevo_gate.report.text import clipped, one_line, visible
from asmevo_gate.report.verdict import RESOLVE, VERDICT_WORDS, verdict_sentence

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Finding, Report
    from asmevo_gate.report.context import RenderContext

MOST_OF_A_LEVEL = 10
SUMMARY_BYTES = 1_000_000
_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}
_TEXT = 1_500
_PATH = 8_192


def render(report: Report, context: RenderContext) -> str:
    """Annotations of new findings, at most ten of a level, then how many more there are and the verdict."""
    report = arranged(report, context.root)
    left = {"error": MOST_OF_A_LEVEL, "warning": MOST_OF_A_LEVEL, "notice": MOST_OF_A_LEVEL}
    lines = []
    sentence = verdict_sentence(report, context.fail_on)
    if report.verdict == "not_checked":
        left["warning"] -= 1
        lines.append(_command("warning", {"title": "asmevo-gate: not checked"}, f"{sentence}\n{RESOLVE}"))
    more = 0
    for found in new_findings(report):
        command = _COMMAND[found.severity]
        if left[command] <= 0:
            more += 1
            continue
        left[command] -= 1
        lines.append(_annotation(command, found))
    if more:
        place = f" ({visible(context.full_report)})" if context.full_report else ""
        lines.append(f"asmevo-gate: {more:,} more in the report{place}")
    lines.append(f"asmevo-gate: {VERDICT_WORDS[report.verdict]}: {sentence}")
    return "\n".join(lines) + "\n"


def render_summary(report: Report, context: RenderContext) -> str:
    """The Markdown note with the room that a step summary has."""
    roomy = msgspec.structs.replace(context, size_limit=SUMMARY_BYTES, max_findings=200, max_rows=500)
    return markdown.render(report, roomy)


def _annotation(command: str, found: Finding) -> str:
    properties = {"file": clipped(visible(found.file), _PATH)}
    if found.line > 0:
        properties["line"] = str(found.line)
        if found.end_line > found.line:
            properties["endLine"] = str(found.end_line)
        elif found.column > 0:
            properties["col"] = str(found.column)
    properties["title"] = clipped(one_line(f"{found.rule} in {found.kernel}" if found.kernel else found.rule), 200)
    text = one_line(found.message)
    if found.producer:
        producer = found.producer
        text += f"\nProducer: {one_line(producer.file)}:{producer.line}: {one_line(producer.text)}"
    if found.repair:
        text += f"\nRepair: {one_line(found.repair)}"
    return _command(command, properties, text)


def _command(command: str, properties: dict[str, str], text: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{command} {listed}::{_data(clipped(text, _TEXT))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
