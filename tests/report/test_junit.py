from __future__ import annotations

from collections import Counter
from functools import cache

import msgspec
import pytest
from lxml import etree

from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.junit import render, render_gitlab
from tests.report.reader_schemas import JUNIT_10, schema_path
from tests.report.samples import CONTEXT, SAMPLES, failing, not_checked, passing, with_text
from tests.report.strategies import for_any, text


@cache
def jenkins_schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(schema_path(JUNIT_10))))


def read(document: str) -> etree._Element:
    return etree.fromstring(document.encode("utf-8"))


def names(document: str) -> list[str]:
    return [case.get("name") for case in read(document).iter("testcase")]


def case(document: str, name: str) -> etree._Element:
    return next(case for case in read(document).iter("testcase") if case.get("name") == name)


@pytest.mark.parametrize("sample", SAMPLES)
def test_jenkins_takes_the_report(sample: str) -> None:
    jenkins_schema().assertValid(read(render(SAMPLES[sample](), CONTEXT)))


def test_the_schema_refuses_what_junit_xml_writes_by_itself() -> None:
    from junit_xml import TestCase, TestSuite, to_xml_report_string

    made = to_xml_report_string([TestSuite("s", [TestCase("n", "c", file="k.s", line=3)])])
    assert not jenkins_schema().validate(read(made))


@for_any(text)
def test_any_text_gives_a_report_that_jenkins_takes_with_unique_names(anything: str) -> None:
    document = render(with_text(anything), RenderContext())
    jenkins_schema().assertValid(read(document))
    assert max(Counter(names(document)).values()) == 1
    finished = render(msgspec.structs.replace(with_text(anything), execution="complete"), RenderContext())
    assert not [out for out in read(finished).iter("system-out") if "[[ATTACHMENT|" in (out.text or "")]


def test_only_a_new_finding_of_failing_severity_fails() -> None:
    outcome = {case.get("name"): case[0].tag for case in read(render(failing(), CONTEXT)).iter("testcase") if len(case)}
    assert outcome == {
        "asmevo-gate: run": "system-out",
        "reduce [gfx90a]: kernel checked": "system-out",
        "reduce: descriptor.vgpr-count": "skipped",
        "reduce [gfx90a]: hazard.valu-sgpr-vmem": "skipped",
        "saxpy [gfx90a]: kernel checked": "system-out",
        "saxpy [gfx90a]: register.occupancy-step": "skipped",
        "saxpy [gfx90a]: wait.vmcnt.raw": "failure",
        "_Z5scalePfi [gfx1100]: kernel checked": "system-out",
    }
    strict = read(render(failing(), RenderContext(fail_on="warning")))
    assert strict.get("failures") == "2"


def test_the_content_says_everything_as_gitlab_shows_nothing_else() -> None:
    content = case(render(failing(), CONTEXT), "saxpy [gfx90a]: wait.vmcnt.raw")[0].text
    assert content is not None
    for part in (
        "kernels/saxpy.s:40:2: error: v4 is read",
        "<- producer",
        "repair: insert s_waitcnt vmcnt(0)",
    ):
        assert part in content


def test_a_name_survives_moved_lines() -> None:
    report = failing()
    moved = msgspec.structs.replace(
        report,
        findings=tuple(msgspec.structs.replace(f, line=f.line + 7, end_line=f.end_line + 7) for f in report.findings),
    )
    assert names(render(moved, CONTEXT)) == names(render(report, CONTEXT))


def test_equal_findings_are_told_apart_by_number() -> None:
    report = msgspec.structs.replace(failing(), findings=(failing().findings[3],) * 3)
    assert [name for name in names(render(report, CONTEXT)) if "wait." in name] == [
        "saxpy [gfx90a]: wait.vmcnt.raw",
        "saxpy [gfx90a]: wait.vmcnt.raw (2)",
        "saxpy [gfx90a]: wait.vmcnt.raw (3)",
    ]


def test_what_was_not_checked_is_an_error_and_its_kernels_do_not_pass() -> None:
    document = render(not_checked(), CONTEXT)
    assert case(document, "asmevo-gate: run")[0].tag == "error"
    assert case(document, "saxpy [gfx90a]: kernel checked").find("skipped") is not None


def test_an_interrupted_run_is_an_error_whatever_the_verdict() -> None:
    report = msgspec.structs.replace(passing(), execution="partial")
    assert read(render(report, CONTEXT)).get("errors") == "1"


def test_a_failing_verdict_fails_even_if_no_finding_explains_it() -> None:
    report = msgspec.structs.replace(passing(), verdict="fail")
    assert read(render(report, CONTEXT)).get("failures") == "1"


def test_a_cut_report_keeps_the_findings_that_fail() -> None:
    report = failing()
    old = tuple(msgspec.structs.replace(report.findings[2], line=line) for line in range(1, 4500))
    document = render(msgspec.structs.replace(report, findings=(*old, *report.findings)), CONTEXT)
    assert read(document).get("failures") == "1"
    assert "503 more findings in the JSON report" in document
    assert len(document) < 30_000_000


def test_the_gitlab_flavour_differs_by_the_file_only() -> None:
    cases = list(read(render_gitlab(failing(), CONTEXT)).iter("testcase"))
    plain = list(read(render(failing(), CONTEXT)).iter("testcase"))
    assert [(c.get("file"), p.get("classname")) for c, p in zip(cases, plain, strict=True)][:2] == [
        (None, "asmevo-gate"),
        ("kernels/reduce.s", "kernels.reduce_s"),
    ]
    for made in (*cases, *plain):
        made.attrib.pop("file", None)
        del made.attrib["classname"]
    assert [etree.tostring(c) for c in cases] == [etree.tostring(c) for c in plain]


def test_a_gate_that_never_fails_has_no_failures() -> None:
    report = msgspec.structs.replace(failing(), verdict="warn")
    assert read(render(report, RenderContext(fail_on=None))).get("failures") == "0"


def test_not_checked_is_an_error_also_when_the_run_is_complete() -> None:
    report = msgspec.structs.replace(not_checked(), execution="complete")
    error = case(render(report, CONTEXT), "asmevo-gate: run").find("error")
    assert error is not None and "so this is no pass" in (error.text or "")
