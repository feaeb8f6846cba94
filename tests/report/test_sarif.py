from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from asmevo_gate.gate.result import Location
from asmevo_gate.report import sarif
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.sarif import render
from tests.end_to_end.npm_programs import sarif_multitool
from tests.report.reader_schemas import SARIF_2_1_0, schema_path
from tests.report.samples import CONTEXT, MISSING_WAIT, OLD, SAMPLES, failing, not_checked, with_text
from tests.report.strategies import for_any, text


@cache
def validator() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(schema_path(SARIF_2_1_0).read_text(encoding="utf-8")))


def run_of(document: str) -> dict[str, Any]:
    (run,) = json.loads(document)["runs"]
    return run


def result_of(document: str, rule: str) -> dict[str, Any]:
    return next(result for result in run_of(document)["results"] if result["ruleId"] == rule)


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_log_follows_the_schema(sample: str) -> None:
    validator().validate(json.loads(render(SAMPLES[sample](), CONTEXT)))


@for_any(text)
def test_any_text_gives_a_log_that_follows_the_schema(anything: str) -> None:
    document = render(with_text(anything), RenderContext())
    log = json.loads(document)
    validator().validate(log)
    document.encode("ascii")
    for result in log["runs"][0]["results"]:
        assert result["message"]["text"].count("](") == 1


def test_producer_and_path_are_related_locations() -> None:
    result = result_of(render(failing(), CONTEXT), "wait.vmcnt.raw")
    shown = [
        (place["id"], place["physicalLocation"]["region"]["startLine"], place["message"]["text"])
        for place in result["relatedLocations"]
    ]
    assert shown == [
        (1, 31, "Producer"),
        (2, 33, "On the path from the producer"),
        (3, 12, "What the macro expands to"),
    ]
    assert result["message"]["text"].endswith("See the [producer](1).")


def test_a_rule_brings_its_help_also_for_ids_below_it() -> None:
    run = run_of(render(failing(), CONTEXT))
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    helped = next(rule for rule in rules if rule["id"] == "wait.vmcnt.raw")
    assert "Wait for the load" in helped["help"]["markdown"]
    assert helped["helpUri"] == "https://example.org/rules/wait.vmcnt.md"
    assert all(rule["help"]["text"] and rule["fullDescription"]["text"] for rule in rules)


def test_old_and_suppressed_findings_are_marked() -> None:
    document = render(failing(), CONTEXT)
    assert result_of(document, "descriptor.vgpr-count")["baselineState"] == "unchanged"
    suppressed = result_of(document, "hazard.valu-sgpr-vmem")["suppressions"]
    assert suppressed == [{"kind": "inSource", "justification": "measured: this part is never reached on hardware"}]
    assert "suppressions" not in result_of(document, "wait.vmcnt.raw")


def test_fingerprints_do_not_depend_on_lines_and_differ() -> None:
    report = msgspec.structs.replace(failing(), findings=(MISSING_WAIT, MISSING_WAIT))
    moved = tuple(msgspec.structs.replace(MISSING_WAIT, line=line) for line in (90, 91))
    prints = [r["partialFingerprints"] for r in run_of(render(report, CONTEXT))["results"]]
    later = msgspec.structs.replace(report, findings=moved)
    assert prints == [r["partialFingerprints"] for r in run_of(render(later, CONTEXT))["results"]]
    assert prints[0]["primaryLocationLineHash"] != prints[1]["primaryLocationLineHash"]


def test_the_limits_of_github_hold_and_new_findings_stay() -> None:
    path = tuple(Location("k.s", line, "v_nop") for line in range(1, 400))
    long = msgspec.structs.replace(MISSING_WAIT, path=path, message="x" * 100_000)
    report = msgspec.structs.replace(failing(), findings=(OLD,) * 6000 + (long,))
    run = run_of(render(report, CONTEXT))
    assert len(run["results"]) == 5000
    assert run["results"][0]["ruleId"] == "wait.vmcnt.raw"
    assert len(run["results"][0]["relatedLocations"]) == 100
    assert len(run["results"][0]["message"]["text"]) <= 4000
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert "1,001 more findings are in the JSON report." in notes


def test_a_log_that_is_too_large_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_BYTES", 2_500)
    assert [r["ruleId"] for r in run_of(render(failing(), CONTEXT))["results"]] == ["wait.vmcnt.raw"]


def test_lines_that_were_not_modelled_are_notifications_with_a_place() -> None:
    invocation = run_of(render(not_checked(), CONTEXT))["invocations"][0]
    assert invocation["executionSuccessful"] is False
    notes = invocation["toolExecutionNotifications"]
    place = next(n for n in notes if "no such instruction" in n["message"]["text"])["locations"][0]
    assert place["physicalLocation"]["region"]["startLine"] == 52


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/k#1.s", "a%20b/k%231.s"),
        ("a:b.s", "a%3Ab.s"),
        ("caf\udce9.s", "caf%E9.s"),
        ("/abs/k.s", "file:///abs/k.s"),
        ("//host/k.s", "file:///host/k.s"),
    ],
)
def test_a_path_becomes_a_uri(file: str, uri: str) -> None:
    run = run_of(render(with_text("k", file=file), RenderContext()))
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == uri
    assert ("uriBaseId" in location) == (not uri.startswith("file:"))


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_validator_of_the_format_finds_nothing(sample: str, tmp_path: Path) -> None:
    (tmp_path / "log.sarif").write_text(render(SAMPLES[sample](), CONTEXT), encoding="utf-8")
    command = [str(sarif_multitool()), "validate", "log.sarif", "-o", "found.sarif"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)  # its exit status says nothing
    found = json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8-sig"))
    # SARIF2005 asks for a web page of the tool.
    assert {result["ruleId"] for result in found["runs"][0]["results"]} <= {"SARIF2005"}
