"""Violations -> findings: places, excerpts and fingerprints that survive moved lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from asmevo_gate.gate.file_check import CheckedProgram, FoundViolation
from asmevo_gate.gate.result import Finding, Location
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.rule import Severity, Violation
from asmevo_gate.source.statement import Place, Source

_PLACE = attrgetter("file", "line", "column", "rule", "message")


def findings_of(checked: CheckedProgram, severities: Mapping[str, Severity]) -> tuple[Finding, ...]:
    """The findings of one program, by place. ``severities`` overrides severities by rule id."""
    source = checked.program.source
    made = [_finding(found, source, severities, checked.program.target.name) for found in checked.violations]
    made.sort(key=_PLACE)
    return tuple(_distinct(made))


def _finding(found: FoundViolation, source: Source, severities: Mapping[str, Severity], gpu: str) -> Finding:
    violation = found.violation
    rule_id = violation.rule or found.rule.id
    outer = violation.frames[0].place if violation.frames else violation.place
    severity = severities.get(rule_id) or severities.get(found.rule.id) or violation.severity or found.rule.severity
    text = _text_at(source, violation.place)
    return Finding(
        rule=rule_id,
        family=found.rule.family,
        severity=severity,
        file=outer.file,
        line=outer.line,
        column=outer.column,
        end_line=outer.line,
        kernel=found.kernel,
        message=violation.message,
        repair=violation.repair,
        producer=_location(violation.producer, source) if violation.producer else None,
        path=tuple([_location(instruction, source) for instruction in violation.path]),
        macro=_macro_chain(violation, source),
        insertion="" if violation.frames else violation.insertion,
        gpu=gpu,
        text=_line_at(source, outer),
        fingerprint=digest(rule_id, found.kernel, gpu, _normalised(violation.context or text)),
    )


def _macro_chain(violation: Violation, source: Source) -> tuple[Location, ...]:
    """The uses that led into the macro, outermost first, and last the line inside it."""
    if not violation.frames:
        return ()
    places = [*(frame.place for frame in violation.frames), violation.place]
    return tuple(Location(place.file, place.line, _text_at(source, place)) for place in places)


def _location(instruction: Instruction, source: Source) -> Location:
    place = instruction.statement.place
    return Location(place.file, place.line, instruction.statement.text)


def _text_at(source: Source, place: Place) -> str:
    text = source.files.get(place.file, source.text)
    return text[place.start : place.end].strip()


def _line_at(source: Source, place: Place) -> str:
    """The whole line, so that the finding's column points into it."""
    text = source.files.get(place.file, source.text)
    start = place.start - (place.column - 1)
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].rstrip()


def _normalised(text: str) -> str:
    return " ".join(text.split())


def digest(*parts: str) -> str:
    """A short stable digest of the parts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _distinct(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Equal fingerprints are told apart by their order in the kernel, so that two equal faults stay two findings."""
    seen: dict[str, int] = {}
    for finding in findings:
        number = seen.get(finding.fingerprint, 0)
        seen[finding.fingerprint] = number + 1
        if number:
            salted = digest(finding.fingerprint, str(number))
            finding = msgspec.structs.replace(finding, fingerprint=salted)
        yield finding
