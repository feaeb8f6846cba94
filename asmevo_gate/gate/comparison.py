"""Head against base: which findings are new, and how the numbers changed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from asmevo_gate.cost.interval import Interval
from asmevo_gate.gate.result import Finding, Metrics


def mark_new(findings: Iterable[Finding], known: Iterable[str]) -> tuple[Finding, ...]:
    """Set ``new`` to false on the findings whose fingerprint is known (at base or in the baseline)."""
    known = frozenset(known)
    return tuple(
        msgspec.structs.replace(finding, new=False) if finding.fingerprint in known else finding for finding in findings
    )


def metric_delta(head: Metrics, base: Metrics) -> dict[str, int | float]:
    """``head - base`` of each metric that both sides know; an interval counts by its middle."""
    delta: dict[str, int | float] = {}
    for name in Metrics.__struct_fields__:
        now, then = _number(getattr(head, name)), _number(getattr(base, name))
        if now is not None and then is not None:
            delta[name] = now - then
    return delta


def _number(value: float | Interval | None) -> float | None:
    if isinstance(value, Interval):
        return (value.low + value.high) / 2
    return value
