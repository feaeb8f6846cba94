"""The ratchet for legacy code: a committed list of fingerprints that are known and do not fail the gate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from asmevo_gate.errors import UsageError
from asmevo_gate.gate.result import Finding

SCHEMA = "asmevo-gate/baseline/1"
_ADVICE = "make it with: asmevo-gate baseline write"


class KnownFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One accepted finding; only ``fingerprint`` is compared, the rest is for the reader of the file."""

    fingerprint: str
    rule: str
    file: str
    kernel: str
    message: str


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a baseline file."""

    schema: str
    findings: tuple[KnownFinding, ...]

    @property
    def fingerprints(self) -> frozenset[str]:
        """The fingerprints that are known."""
        return frozenset(finding.fingerprint for finding in self.findings)


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: the file is missing or malformed; it never counts as an empty baseline.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the baseline cannot be read: {error.strerror}", _ADVICE, str(path)) from error
    return parse_baseline(content, str(path))


def parse_baseline(content: bytes, name: str) -> Baseline:
    """The baseline in the bytes of the file ``name``.

    Raises:
        UsageError: it is malformed.
    """
    try:
        baseline = msgspec.json.decode(content, type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the baseline is malformed: {error}", _ADVICE, name) from error
    if baseline.schema != SCHEMA:
        raise UsageError(f"the baseline has schema '{baseline.schema}', expected '{SCHEMA}'", _ADVICE, name)
    return baseline


def make_baseline(findings: Iterable[Finding]) -> bytes:
    """A baseline file of these findings: sorted and indented, so that its diffs can be reviewed."""
    known = {
        finding.fingerprint: KnownFinding(
            finding.fingerprint, finding.rule, finding.file, finding.kernel, finding.message
        )
        for finding in findings
        if finding.suppressed is None
    }
    ordered = sorted(known.values(), key=lambda one: (one.file, one.kernel, one.rule, one.fingerprint))
    return msgspec.json.format(msgspec.json.encode(Baseline(SCHEMA, tuple(ordered)))) + b"\n"
