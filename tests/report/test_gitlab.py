"""GitLab's readers, as its documentation and its parsers state their rules, written out here."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import msgspec
import pytest

from asmevo_gate.cost.interval import Interval
from asmevo_gate.gate.result import KernelReport, Metrics
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.gitlab_code_quality import render as code_quality
from asmevo_gate.report.gitlab_metrics import render as metrics
from tests.report.samples import CONTEXT, MISSING_WAIT, SAMPLES, failing, not_checked, with_text
from tests.report.strategies import for_any, text


def entries_that_gitlab_keeps(document: str) -> list[dict[str, Any]]:
    """Reading stops at the first entry with a missing field or one of a wrong type; equal fingerprints are one."""
    kept: dict[str, dict[str, Any]] = {}
    for entry in json.loads(document):
        strings = (entry.get("description"), entry.get("fingerprint"), entry.get("check_name"))
        location = entry.get("location", {})
        begin = location.get("lines", {}).get("begin")
        if not all(isinstance(value, str) and value for value in strings):
            break
        if entry.get("severity") not in ("info", "minor", "major", "critical", "blocker"):
            break
        if not isinstance(location.get("path"), str) or type(begin) is not int or begin < 1:
            break
        kept[entry["fingerprint"]] = entry
    return list(kept.values())


def metrics_that_gitlab_reads(document: str) -> dict[str, str]:
    """A line is cut at ``#`` and split like a shell's; an unbalanced quote makes the whole report invalid."""
    read = {}
    for line in document.splitlines():
        words = shlex.split(re.sub(r"#.*$", "", line))
        if len(words) >= 2:
            read[words[0]] = words[1]
    return read


@pytest.mark.parametrize("sample", SAMPLES)
def test_gitlab_keeps_every_code_quality_entry(sample: str) -> None:
    document = code_quality(SAMPLES[sample](), CONTEXT)
    assert len(entries_that_gitlab_keeps(document)) == len(json.loads(document))


def test_equal_findings_stay_apart_and_lines_do_not_matter() -> None:
    twice = msgspec.structs.replace(failing(), findings=(MISSING_WAIT,) * 2)
    moved = msgspec.structs.replace(twice, findings=(msgspec.structs.replace(MISSING_WAIT, line=99),) * 2)
    first, later = (entries_that_gitlab_keeps(code_quality(report, CONTEXT)) for report in (twice, moved))
    assert len(first) == 2
    assert [entry["fingerprint"] for entry in first] == [entry["fingerprint"] for entry in later]


def test_a_finding_becomes_an_entry_and_a_suppressed_one_does_not() -> None:
    entries = json.loads(code_quality(failing(), CONTEXT))
    assert [entry["check_name"] for entry in entries] == [
        "descriptor.vgpr-count", "register.occupancy-step", "wait.vmcnt.raw",
    ]  # fmt: skip
    assert entries[2]["description"].startswith("wait.vmcnt.raw: v4 is read while")
    assert entries[2]["severity"] == "critical"
    assert entries[2]["location"] == {"path": "kernels/saxpy.s", "lines": {"begin": 40}}


def test_a_finding_on_a_whole_file_is_shown_at_its_first_line() -> None:
    whole = msgspec.structs.replace(MISSING_WAIT, line=0)
    (entry,) = entries_that_gitlab_keeps(code_quality(msgspec.structs.replace(failing(), findings=(whole,)), CONTEXT))
    assert entry["location"]["lines"]["begin"] == 1


def test_a_line_that_was_not_modelled_is_an_entry() -> None:
    entries = json.loads(code_quality(not_checked(), CONTEXT))
    assert [(entry["check_name"], entry["location"]["lines"]["begin"]) for entry in entries] == [
        ("not-checked", 52), ("not-checked", 60),
    ]  # fmt: skip


@for_any(text)
def test_any_text_gives_entries_that_gitlab_keeps(anything: str) -> None:
    document = code_quality(with_text(anything), RenderContext())
    assert document.startswith("[")
    assert len(entries_that_gitlab_keeps(document)) == len(json.loads(document)) == 3


def test_metrics_come_through_the_reader_with_names_and_values() -> None:
    read = metrics_that_gitlab_reads(metrics(failing(), CONTEXT))
    assert read["asmevo_vgpr_allocated{kernel=saxpy,file=kernels/saxpy.s,gpu=gfx90a}"] == "72"
    assert read["asmevo_cycles_low{kernel=saxpy,file=kernels/saxpy.s,gpu=gfx90a}"] == "420"
    assert read["asmevo_findings{severity=error,age=new}"] == "1"


def test_an_unknown_number_is_left_out_and_never_zero() -> None:
    kernel = KernelReport("k", "k.s", "gfx90a", Metrics(ipc=float("inf"), cycles=Interval(1, float("nan"))))
    report = msgspec.structs.replace(failing(), kernels=(kernel,))
    assert 'kernel="k"' not in metrics(report, CONTEXT)


@for_any(text)
def test_any_text_gives_metrics_that_gitlab_reads_whole(anything: str) -> None:
    document = metrics(with_text(anything), RenderContext())
    *lines, end = document.splitlines()
    assert end == "# EOF" and document.endswith("\n")
    assert not [line for line in lines if "#" in line]
    assert len(metrics_that_gitlab_reads(document)) == len(lines)
    for line in lines:
        assert re.fullmatch(r'[a-z_]+(\{([a-z]+="[\w/.\-+:~@%]*",?)+\})? -?[0-9.e+]+', line, re.ASCII)


@for_any(text, text)
def test_different_kernels_never_share_a_metric(one: str, other: str) -> None:
    kernels = tuple(KernelReport(name, "k.s", "gfx90a", Metrics(lds_bytes=1)) for name in (one, other))
    shown = metrics(msgspec.structs.replace(failing(), kernels=kernels), RenderContext())
    assert len(re.findall("(?m)^asmevo_lds_bytes", shown)) == len({one, other})
