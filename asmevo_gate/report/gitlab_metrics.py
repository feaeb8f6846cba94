"""GitLab metrics: OpenMetrics text in the subset that GitLab's reader understands.

GitLab cuts each line at ``#``, splits it as a shell would and takes the first word as the name and the
second as the value: so there is no comment but the closing ``# EOF`` (which it drops), and label values
hold neither blanks nor quotes nor ``#``. Such characters are percent-encoded, which keeps different names
different.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from asmevo_gate.cost.interval import Interval
from asmevo_gate.report.arrangement import arranged
from asmevo_gate.report.deltas import METRICS, Number, known_value

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext

_SAFE = "/_.-+:~@"
_NAME = 300


def render(report: Report, context: RenderContext) -> str:
    """The numbers of every kernel at head (unknown ones left out), then the findings and the coverage of
    the run.

    An interval becomes two metrics, ``..._low`` and ``..._high``.
    """
    report = arranged(report, context.root)
    lines: dict[str, str] = {}
    for metric in METRICS:
        for kernel in report.kernels:
            value = known_value(kernel.metrics, metric.name)
            labels = _labels(kernel=kernel.name, file=kernel.file, gpu=kernel.gpu)
            for suffix, number in _parts(value):
                lines.setdefault(f"asmevo_{metric.name}{suffix}{labels}", _number(number))
    found = Counter((f.severity, "new" if f.new else "old") for f in report.findings if f.suppressed is None)
    for severity in ("error", "warning", "info"):
        for age in ("new", "old"):
            lines[f"asmevo_findings{_labels(severity=severity, age=age)}"] = str(found[severity, age])
    lines["asmevo_instructions_checked"] = str(report.coverage.instructions)
    lines["asmevo_instructions_modelled"] = str(report.coverage.modelled)
    ordered = sorted(lines.items(), key=lambda line: line[0].split("{", 1)[0])
    return "".join(f"{name} {value}\n" for name, value in ordered) + "# EOF\n"


def _parts(value: Number | None) -> list[tuple[str, float]]:
    if value is None:
        return []
    if isinstance(value, Interval):
        return [("_low", value.low), ("_high", value.high)]
    return [("", value)]


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))


def _labels(**labels: str) -> str:
    pairs = (f'{name}="{_value(text)}"' for name, text in labels.items())
    return "{" + ",".join(pairs) + "}"


def _value(text: str) -> str:
    """Percent-encoded but for letters, digits and ``_SAFE``; a long name is cut and told apart by a
    digest."""
    encoded = quote(text.encode("utf-8", "surrogatepass"), safe=_SAFE)
    if len(encoded) <= _NAME:
        return encoded
    import hashlib
    import re

    start = re.sub(r"%[0-9A-F]?$", "", encoded[: _NAME - 17])
    return f"{start}~{hashlib.sha256(encoded.encode()).hexdigest()[:16]}"
