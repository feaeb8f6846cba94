"""SARIF 2.1.0, within the limits of GitHub code scanning: producer and path as related locations, rule help
inside."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from asmevo_gate.report.arrangement import SEVERITY_RANK, arranged, unique_fingerprints
from asmevo_gate.report.excerpt import place_text
from asmevo_gate.report.text import clipped, one_line, visible
from asmevo_gate.report.verdict import RESOLVE, execution_sentence, verdict_sentence

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Finding, Location, Report, Unknown
    from asmevo_gate.report.context import RenderContext

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 5_000
"""GitHub keeps 5,000 results of a run and 100 locations of a result; it takes 10 MB of compressed SARIF."""
MOST_LOCATIONS = 100
MOST_BYTES = 40_000_000
"""Before compression, which takes such text to less than a tenth."""
_MOST_NOTIFICATIONS = 200
_TEXT = 4_000
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report, context: RenderContext) -> str:
    """One run. New findings come first where more than ``MOST_RESULTS`` would have to be cut; the cut is
    noted."""
    report = arranged(report, context.root)
    prints = unique_fingerprints(report.findings)
    ranked = sorted(
        zip(report.findings, prints, strict=True),
        key=lambda pair: (not pair[0].new, pair[0].suppressed is not None, SEVERITY_RANK[pair[0].severity]),
    )[:MOST_RESULTS]
    rule_ids = sorted({_rule_id(found) for found, _ in ranked})
    index = {rule: number for number, rule in enumerate(rule_ids)}
    results = _within_size(_result(found, fingerprint, index, context) for found, fingerprint in ranked)
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": one_line(report.tool.name),
                "version": one_line(report.tool.version),
                "rules": [_rule(rule, context) for rule in rule_ids],
            }
        },
        "automationDetails": {"id": "asmevo-gate/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
        "invocations": [_invocation(report, context, len(results))],
        "artifacts": [
            {"location": _artifact(entry.file), "hashes": {"sha-256": visible(entry.sha256)}}
            for entry in report.inputs[:MOST_RESULTS]
        ],
        "results": results,
        "properties": {
            "verdict": report.verdict,
            "execution": report.execution,
            "instructions": report.coverage.instructions,
            "modelled": report.coverage.modelled,
            "dataVersion": one_line(report.tool.data_version),
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _within_size(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many results as fit in ``MOST_BYTES``."""
    kept, size = [], 0
    for result in results:
        size += len(json.dumps(result, indent=1))
        if size > MOST_BYTES:
            break
        kept.append(result)
    return kept


def _rule_id(found: Finding) -> str:
    return one_line(found.rule) or "unnamed"


def _rule(rule: str, context: RenderContext) -> dict[str, Any]:
    known = context.help_for(rule)
    if known is None:
        explain = f"`asmevo-gate explain {rule}` documents this rule."
        return {
            "id": rule,
            "shortDescription": {"text": _sentence(rule)},
            "fullDescription": {"text": _sentence(rule)},
            "help": {"text": explain, "markdown": explain},
        }
    described: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": _sentence(known.title or rule)},
        "fullDescription": {"text": _sentence(clipped(known.title or rule, 1000))},
        "help": {"text": known.text or known.title or rule, "markdown": known.text or known.title or rule},
        "defaultConfiguration": {"level": _LEVEL[known.severity]},
        "properties": {"tags": ["amdgpu", known.family]},
    }
    if known.uri:
        described["helpUri"] = known.uri
    return described


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _invocation(report: Report, context: RenderContext, shown: int) -> dict[str, Any]:
    notes = [_note("error", execution_sentence(report))] if execution_sentence(report) else []
    if report.verdict == "not_checked":
        notes.append(_note("warning", f"Not checked: {verdict_sentence(report, context.fail_on)} {RESOLVE}"))
    if len(report.findings) > shown:
        notes.append(_note("warning", f"{len(report.findings) - shown:,} more findings are in the JSON report."))
    notes += [_unknown("warning", line) for line in report.coverage.unknown[:_MOST_NOTIFICATIONS]]
    notes += [_unknown("note", line) for line in report.skipped[:_MOST_NOTIFICATIONS]]
    invocation: dict[str, Any] = {"executionSuccessful": report.execution == "complete"}
    if report.command:
        invocation["commandLine"] = one_line(report.command)
    return {**invocation, "toolExecutionNotifications": notes}


def _note(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": clipped(one_line(text), _TEXT)}}


def _unknown(level: str, line: Unknown) -> dict[str, Any]:
    note = _note(level, line.reason or "not modelled")
    return {**note, "locations": [_location(line.file, line.line, text=line.text)]}


def _result(found: Finding, fingerprint: str, index: dict[str, int], context: RenderContext) -> dict[str, Any]:
    related = _related(found)
    link = "producer" if related and related[0] is found.producer else "path"
    repair = _prose(found.repair)
    parts = [
        _prose(found.message),
        f"Repair: {repair}" if repair else "",
        f"See the [{link}](1)" if related else "",
    ]
    result: dict[str, Any] = {
        "ruleId": _rule_id(found),
        "ruleIndex": index[_rule_id(found)],
        "level": _LEVEL[found.severity],
        "message": {"text": " ".join(_sentence(part) for part in parts if part) or _rule_id(found)},
        "locations": [
            {
                **_location(found.file, found.line, found.column, found.end_line, place_text(found, context.sources)),
                **_logical(found),
            }
        ],
        "partialFingerprints": {
            "asmevoGate/v1": fingerprint,
            "primaryLocationLineHash": f"{fingerprint[:16]}:1",
        },
        "baselineState": "new" if found.new else "unchanged",
        "properties": {"family": found.family, **({"gpu": one_line(found.gpu)} if found.gpu else {})},
    }
    if related:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(step.file, step.line, text=step.text),
                "message": {"text": _role(step, found)},
            }
            for number, step in enumerate(related, start=1)
        ]
    if found.suppressed is not None:
        result["suppressions"] = [
            {"kind": "inSource", "justification": one_line(found.suppressed) or "no reason given"}
        ]
    return result


def _prose(text: str) -> str:
    """Text in which nothing is an embedded link."""
    return clipped(one_line(text).replace("](", "] ("), _TEXT // 2 - 100)


def _related(found: Finding) -> list[Location]:
    """Producer, path, then the steps of macro expansion; each place once, never the result's own."""
    seen = {(found.file, found.line)}
    steps = []
    for step in (*([found.producer] if found.producer else ()), *found.path, *found.macro):
        if (step.file, step.line) not in seen:
            seen.add((step.file, step.line))
            steps.append(step)
    return steps[:MOST_LOCATIONS]


def _role(step: Location, found: Finding) -> str:
    if step is found.producer:
        return "Producer"
    return "On the path from the producer" if step in found.path else "What the macro expands to"


def _location(file: str, line: int, column: int = 0, end_line: int = 0, text: str = "") -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(file)}
    if line > 0:
        region: dict[str, Any] = {"startLine": line}
        if column > 0:
            region["startColumn"] = column
        if end_line > line:
            region["endLine"] = end_line
        shown = text[max(column - 1, 0) :].strip()
        if shown:
            region["snippet"] = {"text": clipped(visible(shown), 400)}
        place["region"] = region
    return {"physicalLocation": place}


def _logical(found: Finding) -> dict[str, Any]:
    if not found.kernel:
        return {}
    name = clipped(visible(found.kernel), 400)
    return {"logicalLocations": [{"name": name, "kind": "function"}]}


def _artifact(file: str) -> dict[str, str]:
    """A relative reference below the repository's root, or a ``file:`` address for a file elsewhere."""
    encoded = quote(file.encode("utf-8", "surrogateescape" if _from_bytes(file) else "backslashreplace"), safe="/")
    if encoded.startswith("/"):
        return {"uri": "file:///" + encoded.lstrip("/")}
    return {"uri": encoded or ".", "uriBaseId": "%SRCROOT%"}


def _from_bytes(file: str) -> bool:
    """Whether every surrogate in the name stands for a byte that was no UTF-8."""
    return all(0xDC80 <= ord(c) <= 0xDCFF for c in file if 0xD800 <= ord(c) <= 0xDFFF)
