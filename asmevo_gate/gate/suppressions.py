"""``; asmevo: ignore[RULE] reason`` on the line of a finding or on the line above it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from asmevo_gate.gate.result import Finding

_COMMENT = r"(?:;|//|#|/\*)\s*asmevo:\s*ignore(?:\[(?P<rules>[^\]]*)\])?(?P<reason>[^\n]*)"
_HINT = "write: ; asmevo: ignore[rule.id] why this is right"


class Suppression(msgspec.Struct, frozen=True):
    """One suppression comment: its 1-based line, the rule ids it names, and its reason."""

    line: int
    rules: tuple[str, ...]
    reason: str


def read_suppressions(text: str) -> tuple[Suppression, ...]:
    """All suppression comments of a file, in order."""
    if "asmevo:" not in text:
        return ()
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(_COMMENT, line)
        if match:
            rules = tuple(rule.strip() for rule in (match["rules"] or "").split(",") if rule.strip())
            found.append(Suppression(number, rules, match["reason"].removesuffix("*/").strip()))
    return tuple(found)


def apply_suppressions(
    path: str, findings: Iterable[Finding], suppressions: tuple[Suppression, ...]
) -> tuple[Finding, ...]:
    """Mark what the comments of file ``path`` suppress, and report comments that are wrong or of no use.

    A comment without a rule or a reason suppresses nothing and is an error; one that matches no finding is a warning.
    """
    used: set[Suppression] = set()
    result = []
    for finding in findings:
        for suppression in suppressions:
            matches = finding.file == path and suppression.line in (finding.line, finding.line - 1)
            if matches and finding.rule in suppression.rules and suppression.reason:
                used.add(suppression)
                finding = msgspec.structs.replace(finding, suppressed=suppression.reason)
                break
        result.append(finding)
    for suppression in suppressions:
        if not suppression.rules or not suppression.reason:
            lacks = "no rule in brackets" if not suppression.rules else "no reason"
            result.append(
                _complaint(path, suppression, "error", f"this suppression has {lacks}, so it suppresses nothing")
            )
        elif suppression not in used:
            names = ", ".join(suppression.rules)
            result.append(_complaint(path, suppression, "warning", f"nothing to suppress here for {names}"))
    return tuple(result)


def _complaint(path: str, suppression: Suppression, severity: str, message: str) -> Finding:
    from asmevo_gate.gate.findings import digest

    rule = "gate.suppression"
    return Finding(
        rule=rule, family="isa", severity="error" if severity == "error" else "warning", file=path,
        line=suppression.line, column=1, end_line=suppression.line, kernel="", message=message,
        repair=_HINT if severity == "error" else "remove the comment",
        fingerprint=digest(rule, path, message, ",".join(suppression.rules), suppression.reason),
    )  # fmt: skip
