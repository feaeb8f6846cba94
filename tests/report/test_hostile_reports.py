"""Every format on reports that say anything: what ``merge`` reads comes from jobs that ran the code under check.

Texts, numbers and intervals are arbitrary wherever the schema allows them. For each format the page is read as its
reader reads it, and nothing of a report may make that reader do something.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import get_args

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from asmevo_gate.cost.interval import Interval
from asmevo_gate.gate.merging import merge_reports, read_report
from asmevo_gate.gate.picture import BlockTimeline, KernelPicture, LineLoad
from asmevo_gate.gate.result import (
    BlockReport,
    Coverage,
    Execution,
    Finding,
    Input,
    KernelReport,
    Location,
    Metrics,
    Report,
    Rewrite,
    Tool,
    Unknown,
    Verdict,
)
from asmevo_gate.gate.verdict import decide
from asmevo_gate.report.arrangement import arranged
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.formats import FORMATS, renderer
from asmevo_gate.report.markdown import MARKER
from asmevo_gate.rules.rule import Family, Severity
from tests.report.strategies import text
from tests.report.test_gitlab import entries_that_gitlab_keeps, metrics_that_gitlab_reads
from tests.report.test_markdown import tokens
from tests.report.test_pictures import BASE, HEAD

ORDERS = ("/approve", "/merge", "/close\n/assign @all", "@all", "cc @group/team", "#1 !2 ~bug %3 &4", "::add-mask::x")
said = st.one_of(text, st.sampled_from(ORDERS), st.sampled_from(ORDERS).map(lambda order: f"x\n{order}\n"))
whole = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))
real = st.one_of(st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False))
number = st.one_of(real, st.builds(Interval, real, real))
location = st.builds(Location, said, whole, said)
unknown = st.builds(Unknown, said, whole, said, said)
metrics = st.builds(Metrics, *[st.none() | whole] * 8, st.none() | number, st.none() | number)
block = st.builds(
    BlockReport, said, whole, whole, whole, whole, number, st.none() | number, st.none() | said, number, number
)
kernel = st.builds(
    KernelReport, said, said, said, metrics, st.none() | metrics, st.just(None), st.lists(block, max_size=2).map(tuple)
)
finding = st.builds(
    Finding,
    rule=said, family=st.sampled_from(get_args(Family)), severity=st.sampled_from(get_args(Severity)), file=said,
    line=whole, column=whole, end_line=whole, kernel=said, message=said, repair=said,
    producer=st.none() | location, path=st.lists(location, max_size=2).map(tuple), new=st.booleans(),
    fingerprint=said, macro=st.lists(location, max_size=2).map(tuple), suppressed=st.none() | said, text=said,
    insertion=said, gpu=said,
)  # fmt: skip
rewrite = st.builds(
    Rewrite, said, said, st.sampled_from(["accepted", "rejected"]), said, said, said,
    st.dictionaries(said, real, max_size=3), said,
)  # fmt: skip
reports = st.builds(
    Report,
    tool=st.builds(Tool, said, said, said, st.none() | said),
    verdict=st.sampled_from(get_args(Verdict)),
    execution=st.sampled_from(get_args(Execution)),
    coverage=st.builds(Coverage, whole, whole, st.lists(unknown, max_size=2).map(tuple)),
    findings=st.lists(finding, max_size=2).map(tuple),
    kernels=st.lists(kernel, max_size=2).map(tuple),
    rewrites=st.lists(rewrite, max_size=2).map(tuple),
    skipped=st.lists(unknown, max_size=2).map(tuple),
    command=said,
    inputs=st.lists(st.builds(Input, said, said), max_size=2).map(tuple),
)
CONTEXT = RenderContext(root="/src", verbose=True)
_QUIETLY = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def drawn_for(report: Report) -> tuple[KernelPicture, ...]:
    """A picture for each kernel of a report."""
    return tuple(
        KernelPicture(
            one.name, one.file, one.gpu, (LineLoad(1, 2, 0), LineLoad(2, 9, 0)), (LineLoad(1, 1, 0),), ((8, 4),), (),
            BlockTimeline(one.name, 1, HEAD, BASE),
        )
        for one in report.kernels
    )  # fmt: skip


def context_for(report: Report) -> RenderContext:
    return RenderContext(root="/src", verbose=True, pictures=drawn_for(report))


def log_that_obeys_nothing(page: str) -> None:
    """A terminal (no control characters) and the log of a CI job (no workflow commands)."""
    assert not [c for c in page if c != "\n" and not c.isprintable()]
    assert not re.search(r"(?m)^\s*::|##\[", page)


def note_that_obeys_nothing(page: str) -> None:
    """A note of GitLab or GitHub: no markup from a report, no quick action, no mention, no reference."""
    page.encode("utf-8")
    read = tokens(page)
    assert [t.content.strip() for t in read if t.type in ("html_block", "html_inline")] == [MARKER]
    assert not [t for t in read if t.type in ("link_open", "image", "em_open")]
    assert not re.search(r"(?m)^\s*/\w", _without_code(page))
    prose = " ".join(t.content for t in read if t.type in ("text", "text_special"))
    assert not re.search(r"[@#!~%&$]\w", prose)
    headings = re.findall(r"(?m)^#+ .*", _without_code(page))
    assert all(re.match(r"## asmevo-gate: |### (Changes|New |Registers|Rewrites|Not checked)", h) for h in headings)


def _without_code(page: str) -> str:
    return re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", page)


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def html_that_obeys_nothing(page: str) -> None:
    """A browser: our tags only, no handler, no address."""
    ours = {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "span", "table", "thead", "tbody",
        "tr", "th", "td", "div", "strong", "pre", "code", "ul", "li", "details", "summary", "footer", "section",
        "svg", "g", "text", "rect", "path", "polygon", "polyline", "desc", "defs", "pattern", "br", "figure",
        "figcaption", "em", "small", "header", "main", "b",
    }  # fmt: skip
    for tag, attributes in _Tags(page).found:
        assert tag in ours
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href", "srcdoc")]


def junit_that_is_read_whole(page: str) -> None:
    root = ElementTree.fromstring(page.encode("utf-8"))
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    assert "[[ATTACHMENT|" not in page


def sarif_that_is_read_whole(page: str) -> None:
    (run,) = json.loads(page)["runs"]
    for result in run["results"]:
        for place in result.get("locations", []):
            region = place["physicalLocation"].get("region", {})
            assert region.get("startLine", 1) >= 1
            assert region.get("startColumn", 1) >= 1
            assert region.get("endLine", region.get("startLine", 1)) >= region.get("startLine", 1)


def code_quality_that_is_read_whole(page: str) -> None:
    assert len(entries_that_gitlab_keeps(page)) == len(json.loads(page))


def metrics_that_are_read_whole(page: str) -> None:
    *lines, last = page.splitlines()
    assert last == "# EOF"
    read = metrics_that_gitlab_reads(page)
    assert len(read) == len(lines)
    assert all(re.fullmatch(r"asmevo_\w+(\{.*\})?", name) for name in read)
    assert all(math.isfinite(float(value)) for value in read.values())


def annotations_that_are_ours(page: str) -> None:
    commands = [line for line in page.splitlines() if line.startswith("::")]
    assert all(re.match(r"::(error|warning|notice) (file|title)=", line) for line in commands)
    assert len(commands) <= 30
    log_that_obeys_nothing("".join(f"{line}\n" for line in page.splitlines() if not line.startswith("::")))
    assert not [c for line in commands for c in line if not c.isprintable()]


READERS: dict[str, Callable[[str], None]] = {
    "terminal": log_that_obeys_nothing,
    "json": lambda page: msgspec.json.decode(page.encode(), type=Report) and None,
    "html": html_that_obeys_nothing,
    "markdown": note_that_obeys_nothing,
    "junit": junit_that_is_read_whole,
    "gitlab_junit": junit_that_is_read_whole,
    "sarif": sarif_that_is_read_whole,
    "gitlab_code_quality": code_quality_that_is_read_whole,
    "gitlab_metrics": metrics_that_are_read_whole,
    "github": annotations_that_are_ours,
    "github_summary": note_that_obeys_nothing,
}


def test_every_format_has_a_reader() -> None:
    assert set(READERS) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_in_a_report_is_obeyed(name: str) -> None:
    @_QUIETLY
    @given(reports)
    def holds(report: Report) -> None:
        page = renderer(name)(report, context_for(report))
        READERS[name](page)

    holds()


def read_again(report: Report) -> Report:
    return read_report(renderer("json")(report, CONTEXT).encode(), "part.json").report


@_QUIETLY
@given(reports)
def test_a_written_report_is_read_again_as_it_was(report: Report) -> None:
    written = renderer("json")(report, CONTEXT)
    assume("\\\\ud" not in written)  # a lone surrogate is written as its escape
    assert renderer("json")(read_again(report), CONTEXT) == written


@_QUIETLY
@given(reports)
def test_a_report_of_an_untrusted_job_is_merged_and_shown(report: Report) -> None:
    verdict = decide(report.findings, report.coverage, "error")
    told = msgspec.structs.replace(report, verdict=verdict, inputs=())  # two contents of one file are refused
    written = renderer("json")(told, CONTEXT)
    merged = merge_reports([read_report(written.encode(), "part.json")], "error")
    assert merged.verdict == told.verdict
    for name in ("terminal", "markdown", "github"):
        READERS[name](renderer(name)(merged, CONTEXT))


def huge() -> Iterator[Report]:
    """A report whose every text is a megabyte, and one with very many entries."""
    long = "x" * 1_000_000
    place = Location(long, 1, long)
    found = Finding(long, "wait", "error", long, 1, 1, 1, long, long, long, place, (place,), text=long, gpu=long)
    one = KernelReport(
        long,
        long,
        long,
        Metrics(cycles=2.0),
        Metrics(cycles=1.0),
        None,
        (BlockReport(long, 1, 2, 3, 4, 9.0, None, long, 8.0),),
    )
    metric = {long: 1.0}
    tool = Tool(long, long, long, long)
    lines = (Unknown(long, 1, long, long),)
    yield Report(
        tool, "fail", "partial", Coverage(2, 1, lines), (found,), (one,),
        (Rewrite(long, long, "accepted", long, long, long, metric, long),), lines, long, (Input(long, long),),
    )  # fmt: skip
    small = msgspec.structs.replace(found, rule="r", file="f", kernel="k", message="m", repair="", text="", gpu="g",
                                    producer=None, path=())  # fmt: skip
    kernels = tuple(KernelReport(f"k{at}", "f", "g", Metrics(cycles=2.0), Metrics(cycles=1.0)) for at in range(6_000))
    yield Report(Tool("t", "1", "2"), "fail", "complete", Coverage(1, 1), (small,) * 6_000, kernels)


@pytest.mark.parametrize("report", list(huge()), ids=["long", "many"])
@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"json"}))
def test_a_huge_report_stays_within_what_its_reader_takes(name: str, report: Report) -> None:
    most = {
        "markdown": 60_000, "github_summary": 1_000_000, "github": 400_000, "terminal": 200_000, "junit": 30 << 20,
        "gitlab_junit": 30 << 20, "html": 20 << 20, "sarif": 80 << 20, "gitlab_code_quality": 30 << 20,
        "gitlab_metrics": 30 << 20,
    }  # fmt: skip
    page = renderer(name)(report, RenderContext(root="/src", verbose=True))
    assert len(page.encode("utf-8")) <= most[name]
    if name not in ("markdown", "github_summary"):
        READERS[name](page)


def test_arrangement_keeps_every_finding() -> None:
    report = next(huge())
    assert len(arranged(report, "/src").findings) == len(report.findings)
