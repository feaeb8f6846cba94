"""The order and the form in which every renderer sees a report: relative paths, sorted lists."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Finding, Location, Report, Unknown
    from asmevo_gate.rules.rule import Severity

SEVERITY_RANK = {"error": 0, "warning": 1, "info": 2}


def relative_path(path: str, root: str) -> str:
    """``path`` with forward slashes, relative to ``root`` when it lies below it, else unchanged."""
    if root and Path(path).is_absolute():
        below = os.path.relpath(path, root)
        path = path if below == os.pardir or below.startswith(os.pardir + os.sep) else below
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return path[2:] if path.startswith("./") and len(path) > 2 else path


def arranged(report: Report, root: str) -> Report:
    """The report with paths relative to ``root`` and every list sorted by place, so that equal runs give
    equal bytes.

    Lists whose order has a meaning (paths, macro chains, blocks) keep it.
    """

    @cache
    def relative(path: str) -> str:
        return relative_path(path, root)

    def place(location: Location) -> Location:
        return msgspec.structs.replace(location, file=relative(location.file))

    def unknown(line: Unknown) -> Unknown:
        return msgspec.structs.replace(line, file=relative(line.file))

    def finding(found: Finding) -> Finding:
        file = relative(found.file)
        if file == found.file and not (found.producer or found.path or found.macro):
            return found
        return msgspec.structs.replace(
            found,
            file=file,
            producer=place(found.producer) if found.producer else None,
            path=tuple(place(step) for step in found.path),
            macro=tuple(place(step) for step in found.macro),
        )

    return msgspec.structs.replace(
        report,
        coverage=msgspec.structs.replace(
            report.coverage, unknown=tuple(sorted(map(unknown, report.coverage.unknown), key=_unknown_key))
        ),
        findings=tuple(arranged_findings(map(finding, report.findings))),
        kernels=tuple(
            sorted(
                (msgspec.structs.replace(k, file=relative(k.file)) for k in report.kernels),
                key=lambda kernel: (kernel.file, kernel.name, kernel.gpu),
            )
        ),
        rewrites=tuple(
            sorted(report.rewrites, key=lambda r: (r.kernel, r.region, r.state, r.class_, r.reason, r.patch))
        ),
        skipped=tuple(sorted(map(unknown, report.skipped), key=_unknown_key)),
        inputs=tuple(
            sorted(
                (msgspec.structs.replace(i, file=relative(i.file)) for i in report.inputs),
                key=lambda entry: (entry.file, entry.sha256),
            )
        ),
    )


def arranged_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by place."""
    return sorted(findings, key=_finding_key)


def _unknown_key(line: Unknown) -> tuple[str, int, str, str]:
    return (line.file, line.line, line.text, line.reason)


_finding_key = attrgetter("file", "line", "column", "end_line", "rule", "kernel", "gpu", "message", "fingerprint")


def new_findings(report: Report) -> list[Finding]:
    """Findings that this change brings and that no comment suppresses: the gravest first, then by place."""
    found = [f for f in report.findings if f.new and f.suppressed is None]
    return sorted(found, key=lambda f: SEVERITY_RANK[f.severity])


def old_findings(report: Report) -> list[Finding]:
    """Findings that base has as well."""
    return [f for f in report.findings if not f.new and f.suppressed is None]


def suppressed_findings(report: Report) -> list[Finding]:
    """Findings that a comment with a reason suppresses."""
    return [f for f in report.findings if f.suppressed is not None]


def fails(found: Finding, fail_on: Severity | None) -> bool:
    """Whether the finding by itself fails the gate."""
    if fail_on is None:
        return False
    return found.new and found.suppressed is None and SEVERITY_RANK[found.severity] <= SEVERITY_RANK[fail_on]


def unique_fingerprints(findings: tuple[Finding, ...]) -> list[str]:
    """A fingerprint a finding that no other finding of the report has, without line numbers.

    Two findings with the same rule, kernel and context share one; the second and later are salted with
    their number, as readers fold entries with equal fingerprints into one.
    """
    import hashlib

    seen: dict[str, int] = {}
    result = []
    for found in findings:
        identity = found.fingerprint or "\0".join((found.rule, found.file, found.kernel, found.message))
        identity = f"{identity}\0{found.gpu}"
        seen[identity] = seen.get(identity, 0) + 1
        text = identity if seen[identity] == 1 else f"{identity}\0{seen[identity]}"
        result.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
    return result
