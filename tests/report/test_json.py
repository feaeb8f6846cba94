from __future__ import annotations

import json
import random

import jsonschema
import msgspec
import pytest

from asmevo_gate.gate.result import Report
from asmevo_gate.report.arrangement import arranged
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.json import render
from asmevo_gate.report.schema import SCHEMA_FILE, schema_text
from tests.report.samples import SAMPLES, failing, with_text
from tests.report.strategies import for_any, text

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_published_schema_is_made_from_the_model() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_report_follows_the_published_schema(sample: str) -> None:
    VALIDATOR.validate(json.loads(render(SAMPLES[sample](), RenderContext())))


def test_the_schema_refuses_a_report_with_a_missing_or_wrong_field() -> None:
    good = json.loads(render(failing(), RenderContext()))
    for wrong in (
        {key: value for key, value in good.items() if key != "coverage"},
        {**good, "verdict": "fine"},
        {**good, "schema": "asmevo-gate/report/2"},
        {**good, "findings": [{**good["findings"][0], "severity": "fatal"}]},
        {**good, "findings": [{**good["findings"][0], "line": "3"}]},
    ):
        assert not VALIDATOR.is_valid(wrong)


def test_the_contract_comes_back_as_the_same_report() -> None:
    read = msgspec.json.decode(render(failing(), RenderContext()), type=Report)
    assert read == arranged(failing(), "")


def test_the_order_in_which_results_arrive_changes_no_byte() -> None:
    report = failing()
    expected = render(report, RenderContext())
    shuffle = random.Random(7)
    for _ in range(20):
        lists = {
            name: tuple(shuffle.sample(getattr(report, name), len(getattr(report, name))))
            for name in ("findings", "kernels", "rewrites", "skipped", "inputs")
        }
        assert render(msgspec.structs.replace(report, **lists), RenderContext()) == expected


def test_paths_below_the_root_are_relative() -> None:
    report = with_text("k", file="/builds/team/kernels/k.s")
    read = json.loads(render(report, RenderContext(root="/builds/team")))
    finding = read["findings"][0]
    places = [finding, finding["producer"], *finding["path"], *finding["macro"], *read["kernels"]]
    places += [*read["coverage"]["unknown"], *read["skipped"], *read["inputs"]]
    assert {place["file"] for place in places} == {"kernels/k.s"}


def test_a_path_elsewhere_stays_as_it_is() -> None:
    for file in ("/builds/team2/k.s", "../k.s", "/k.s"):
        read = json.loads(render(with_text("k", file=file), RenderContext(root="/builds/team")))
        assert read["findings"][0]["file"] == file


@for_any(text)
def test_any_text_gives_json_that_follows_the_schema(anything: str) -> None:
    shown = render(with_text(anything), RenderContext())
    shown.encode("utf-8")
    VALIDATOR.validate(json.loads(shown))
