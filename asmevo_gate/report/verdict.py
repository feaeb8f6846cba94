"""The verdict in words: one sentence on why it is what it is, and what was not checked and how to resolve
that."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.report.arrangement import new_findings
from asmevo_gate.report.deltas import changed_metrics
from asmevo_gate.report.text import clipped, one_line, plural

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.rules.rule import Severity

VERDICT_WORDS = {"pass": "pass", "warn": "warn", "fail": "fail", "not_checked": "not checked"}
_EXECUTION = {
    "partial": "The run is partial: some files or checks were left out; the numbers are lower bounds.",
    "error": "The run ended with an error before everything was checked; the numbers are lower bounds.",
    "timed_out": "The run hit its time limit before everything was checked; the numbers are lower bounds.",
}
RESOLVE = (
    "To resolve: name the right target (--gpu) if the line is for another one, define the symbol or add the "
    "include path that the line needs, or update asmevo-gate if the instruction is newer than its tables."
)


def severity_counts(report: Report) -> str:
    """New findings by severity: ``2 new errors and 1 new warning``; empty when there are none."""
    counts = Counter[str](found.severity for found in new_findings(report))
    parts = [
        plural(counts[severity], f"new {noun}")
        for severity, noun in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if counts[severity]
    ]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def verdict_sentence(report: Report, fail_on: Severity | None = "error") -> str:
    """Why the verdict is what it is, in one sentence."""
    found = severity_counts(report)
    kernels = plural(len(report.kernels), "kernel")
    unknown = len(report.coverage.unknown)
    besides = f"; {plural(unknown, 'line')} could not be modelled" if unknown else ""
    if report.verdict == "fail":
        limit = f"; the gate fails from severity {fail_on}" if fail_on else ""
        return f"{found or 'the gate fails'} in {kernels} checked{limit}{besides}."
    if report.verdict == "warn":
        limit = (
            f"below the severity that fails the gate ({fail_on})" if fail_on else "but the gate is set never to fail"
        )
        return f"{found or 'warnings'} in {kernels} checked, {limit}{besides}."
    if report.verdict == "not_checked":
        coverage = report.coverage
        missing = coverage.instructions - coverage.modelled
        if missing > 0:
            what = f"{missing:,} of {plural(coverage.instructions, 'instruction')} could not be modelled"
        elif coverage.unknown:
            what = f"{plural(len(coverage.unknown), 'line')} could not be modelled"
        elif report.skipped:
            what = f"{plural(len(report.skipped), 'file')} could not be read as AMDGPU assembly"
        else:
            what = "not everything could be checked"
        also = f"; besides, {found}" if found else ""
        return f"{what}, so this is no pass{also}."
    changes = Counter(change.word for change in changed_metrics(report))
    words = [f"{changes[word]} {word}" for word in ("worse", "better") if changes[word]]
    numbers = f"; metrics: {', '.join(words)}" if words else ""
    return f"{kernels} checked, {found or 'no new findings'}{numbers}."


def execution_sentence(report: Report) -> str:
    """What it means that the run is not complete; empty when it is."""
    return _EXECUTION.get(report.execution, "")


def coverage_sentence(report: Report) -> str:
    """How much was modelled: ``118 of 120 instructions modelled (98.3 %)``. Never rounded up to 100 %."""
    coverage = report.coverage
    if not coverage.instructions:
        return "no instructions checked"
    tenths = coverage.modelled * 1000 // coverage.instructions
    return (
        f"{coverage.modelled:,} of {plural(coverage.instructions, 'instruction')} modelled "
        f"({tenths // 10}.{tenths % 10} %)"
    )


class UnknownLine(msgspec.Struct, frozen=True):
    """A line that was not modelled, or a file that was not read (its ``text`` is empty), fit to print."""

    place: str
    text: str
    reason: str

    def __str__(self) -> str:
        quoted = f" `{self.text}`" if self.text else ""
        return f"{self.place}:{quoted} {self.reason}"


def unknown_lines(report: Report, limit: int) -> tuple[list[UnknownLine], int]:
    """The first lines that could not be modelled, and how many more there are."""
    unknown = [*report.coverage.unknown, *(report.skipped if report.verdict == "not_checked" else ())]
    lines = [
        UnknownLine(
            f"{one_line(entry.file)}:{entry.line}" if entry.line > 0 else one_line(entry.file),
            clipped(one_line(entry.text), 80),
            clipped(one_line(entry.reason), 200),
        )
        for entry in unknown[:limit]
    ]
    return lines, max(len(unknown) - limit, 0)
