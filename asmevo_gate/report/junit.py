"""JUnit XML: a test case a kernel and one a finding, valid against Jenkins' ``junit-10.xsd``.

junit-xml builds the elements; its ``disabled``, ``file`` and ``line`` attributes are not in the schema and
are taken off again. GitLab reads the content of a failure, not its ``message``, and keeps only the first of
two cases with one name: the text is in the content and names are unique. Names have no line numbers, so
that a finding which moves stays the same test for "newly failed".
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

from asmevo_gate.report.arrangement import arranged, arranged_findings, fails
from asmevo_gate.report.deltas import kernel_changes, number_text
from asmevo_gate.report.excerpt import excerpt, expansion
from asmevo_gate.report.text import clipped, one_line, plural, visible, xml_text
from asmevo_gate.report.verdict import (
    RESOLVE,
    coverage_sentence,
    execution_sentence,
    unknown_lines,
    verdict_sentence,
)

if TYPE_CHECKING:
    from junit_xml import TestCase

    from asmevo_gate.gate.result import Finding, KernelReport, Report
    from asmevo_gate.report.context import RenderContext

_NOT_IN_SCHEMA = {"testsuites": ("disabled",), "testsuite": ("disabled",), "testcase": ("line", "file")}
_KERNELS = 10_000
_CASES = 4_000
_LINE = 500
_STEPS = 5
"""GitLab refuses a file of 30 MB: so many kernels, findings and lines of that length stay below."""


def render(report: Report, context: RenderContext) -> str:
    """The report for Jenkins (and GitLab, which then has no link to the file)."""
    return _document(report, context, with_file=False)


def render_gitlab(report: Report, context: RenderContext) -> str:
    """The same with ``file`` on each case, which GitLab shows as a link and Jenkins' schema does not have."""
    return _document(report, context, with_file=True)


def _document(report: Report, context: RenderContext, with_file: bool) -> str:
    from junit_xml import TestCase, TestSuite

    report = arranged(report, context.root)
    files: dict[str, list[TestCase]] = {}
    names: dict[str, int] = {}

    def case(file: str, name: str) -> TestCase:
        shown = visible(file)
        class_name = shown if with_file else _class_name(shown)
        made = TestCase(_unique(name, names), class_name or "asmevo-gate", file=shown or None)
        files.setdefault(file, []).append(made)
        return made

    _run_case(case("", "asmevo-gate: run"), report, context)
    not_modelled = {line.file for line in report.coverage.unknown}
    for kernel in report.kernels[:_KERNELS]:
        made = case(kernel.file, f"{_short(kernel.name)} [{_short(kernel.gpu)}]: kernel checked")
        made.stdout = _numbers(kernel)
        if kernel.file in not_modelled:
            made.add_skipped_info("not fully checked", "The file has lines that could not be modelled.")
    failing_first = sorted(report.findings, key=lambda found: not fails(found, context.fail_on))
    for found in arranged_findings(failing_first[:_CASES]):
        target = f" [{_short(found.gpu)}]" if found.gpu else ""
        where = _short(found.kernel) if found.kernel else "file"
        _finding_case(case(found.file, f"{where}{target}: {_short(found.rule)}"), found, context)

    root = ElementTree.Element("testsuites", {"name": "asmevo-gate"})
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for file, cases in files.items():
        suite: ElementTree.Element = TestSuite(visible(file) or "asmevo-gate", cases).build_xml_doc()
        for key in totals:
            totals[key] += int(suite.get(key, "0"))
        root.append(suite)
    for key, value in totals.items():
        root.set(key, str(value))
    for element in root.iter():
        for attribute in _NOT_IN_SCHEMA.get(element.tag, ()):
            if not (with_file and attribute == "file"):
                element.attrib.pop(attribute, None)
    ElementTree.indent(root)
    document = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
    return document.replace("[[ATTACHMENT|", "[ [ATTACHMENT|")  # else GitLab offers a file for download


def _class_name(file: str) -> str:
    """``kernels/saxpy.s`` as ``kernels.saxpy_s``: Jenkins takes what precedes the last dot for the package."""
    return ".".join(part.replace(".", "_") for part in file.split("/") if part)


def _unique(name: str, names: dict[str, int]) -> str:
    """``name``, or ``name (2)`` and so on when it is taken; ``names`` holds the last number tried for each
    name."""
    unique = name
    while unique in names:
        names[name] += 1
        unique = f"{name} ({names[name]})"
    names[unique] = 1
    return unique


def _run_case(made: TestCase, report: Report, context: RenderContext) -> None:
    """The case that stands for the run: an error when it is not complete or not everything was checked."""
    left_out = [
        f"{plural(found - shown, f'more {noun}')} in the JSON report"
        for found, shown, noun in (
            (len(report.findings), _CASES, "finding"),
            (len(report.kernels), _KERNELS, "kernel"),
        )
        if found > shown
    ]
    lines = [
        verdict_sentence(report, context.fail_on),
        execution_sentence(report),
        coverage_sentence(report),
        *left_out,
    ]
    unknown, more = unknown_lines(report, 100)
    if unknown:
        lines += [*map(str, unknown), f"{more:,} more in the JSON report" if more else "", RESOLVE]
    if report.skipped:
        lines.append(f"{plural(len(report.skipped), 'file')} skipped")
    if report.command:
        lines.append(f"reproduce: {report.command}")
    lines.append(f"{report.tool.name} {report.tool.version}, data {report.tool.data_version}")
    text = _content(lines)
    if report.execution != "complete":
        made.add_error_info(f"the run is not complete: {report.execution}", text, report.execution)
    elif report.verdict == "not_checked":
        made.add_error_info("not checked", text, "not_checked")
    elif report.verdict == "fail" and not any(fails(found, context.fail_on) for found in report.findings):
        made.add_failure_info("the gate fails", text, "verdict")
    else:
        made.stdout = text


def _finding_case(made: TestCase, found: Finding, context: RenderContext) -> None:
    message = clipped(f"{found.severity}: {one_line(found.message)}", 500)
    lines = [f"{one_line(found.file)}:{found.line}:{found.column}: {found.severity}: {one_line(found.message)}"]
    lines += [f"{line.line or ''} | {line.text}{'   <- ' + line.note if line.note else ''}"
              for line in excerpt(found, context.sources)]  # fmt: skip
    lines += [f"expands to {step.file}:{step.line}: {step.text}" for step in expansion(found)[:_STEPS]]
    if found.repair:
        lines.append(f"repair: {found.repair}")
    if found.suppressed is not None:
        made.add_skipped_info("suppressed", _content([f"suppressed: {found.suppressed}", *lines]))
    elif fails(found, context.fail_on):
        made.add_failure_info(message, _content(lines), visible(found.rule))
    else:
        below = f"below the severity that fails ({context.fail_on})" if context.fail_on else "the gate never fails"
        why = below if found.new else "base has it as well"
        made.add_skipped_info(why, _content([f"does not fail the gate: {why}", *lines]))


def _numbers(kernel: KernelReport) -> str:
    lines = []
    for change in kernel_changes(kernel):
        label = f"{change.metric.label}{' (' + change.metric.unit + ')' if change.metric.unit else ''}"
        if change.word == "new":
            lines.append(f"{label}: {number_text(change.head)}")
        else:
            arrow = f"{number_text(change.base)} -> {number_text(change.head)}"
            words = (
                [arrow, change.amount, change.word]
                if change.word != "same"
                else [number_text(change.head), "unchanged"]
            )
            lines.append(f"{label}: {', '.join(filter(None, words))}")
    return _content(lines or ["no numbers known"])


def _content(lines: list[str]) -> str:
    """Lines as content of an element."""
    return xml_text("\n".join(clipped(line, _LINE) for line in lines if line))


def _short(name: str) -> str:
    return clipped(one_line(name), 200) or "unnamed"
