"""GitLab code quality: a JSON array that its reader takes whole.

GitLab stops at the first entry that its schema refuses and drops the rest without a word, folds entries
with equal fingerprints into one, and does not show ``check_name``: so every field is of the right type,
fingerprints differ and have no line numbers in them, and the rule's id leads the description.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from asmevo_gate.report.arrangement import arranged, unique_fingerprints
from asmevo_gate.report.text import clipped, one_line, visible

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext

_SEVERITY = {"error": "critical", "warning": "minor", "info": "info"}
_TEXT = 2_000
_MOST_UNKNOWN = 1_000


def render(report: Report, context: RenderContext) -> str:
    """Every finding that is not suppressed, new or old (GitLab compares with the target branch itself), and
    every line that could not be modelled, so that "nothing found" is not read where something was not
    checked."""
    report = arranged(report, context.root)
    entries = [
        _entry(
            description=f"{one_line(found.rule)}: {one_line(found.message)}"
            + (f" Repair: {one_line(found.repair)}" if found.repair else ""),
            check=found.rule,
            fingerprint=fingerprint,
            severity=_SEVERITY[found.severity],
            file=found.file,
            line=found.line,
        )
        for found, fingerprint in zip(report.findings, unique_fingerprints(report.findings), strict=True)
        if found.suppressed is None
    ]
    seen: dict[str, int] = {}
    for line in report.coverage.unknown[:_MOST_UNKNOWN]:
        identity = "\0".join(("not-checked", line.file, line.text, line.reason))
        seen[identity] = seen.get(identity, 0) + 1
        digest = hashlib.sha256(f"{identity}\0{seen[identity]}".encode("utf-8", "surrogatepass")).hexdigest()
        reason = one_line(line.reason) or "not modelled"
        text = f" ({one_line(line.text)})" if line.text.strip() else ""
        entries.append(_entry(f"not-checked: {reason}{text}", "not-checked", digest, "minor", line.file, line.line))
    return json.dumps(entries, indent=1, ensure_ascii=True) + "\n"


def _entry(description: str, check: str, fingerprint: str, severity: str, file: str, line: int) -> dict[str, Any]:
    return {
        "description": clipped(description, _TEXT),
        "check_name": one_line(check) or "unnamed",
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": visible(file), "lines": {"begin": max(line, 1)}},
    }
