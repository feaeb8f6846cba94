"""Findings and coverage -> verdict and exit code."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.gate.result import Coverage, Execution, Finding, Verdict
from asmevo_gate.rules.rule import Severity

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}


def decide(findings: Iterable[Finding], coverage: Coverage, fail_on: Severity | None) -> Verdict:
    """The verdict of a run.

    Only new findings that are not suppressed count. ``fail_on`` is the least severity that fails the gate, ``None``
    for a gate that never fails. What could not be modelled turns a pass or a warning into ``not_checked``: the gate
    does not say that code which it did not understand is right.
    """
    counted = [finding for finding in findings if finding.new and finding.suppressed is None]
    worst = max((_RANK[finding.severity] for finding in counted), default=-1)
    if fail_on is not None and worst >= _RANK[fail_on]:
        return "fail"
    if coverage.unknown:
        return "not_checked"
    return "warn" if worst >= _RANK["warning"] else "pass"


def exit_code(verdict: Verdict, execution: Execution, allow_not_checked: bool) -> int:
    """0 the gate passes, 1 it fails, 2 it could not do its work."""
    if execution in ("error", "timed_out"):
        return 2
    if verdict == "fail" or (verdict == "not_checked" and not allow_not_checked):
        return 1
    return 0
