from __future__ import annotations

import re
from collections import Counter

import msgspec

from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.github import render, render_summary
from asmevo_gate.report.text import clipped, visible
from tests.report.samples import CONTEXT, MISSING_WAIT, OCCUPANCY, failing, not_checked, with_text
from tests.report.strategies import for_any, text

COMMAND = re.compile(r"::(?P<name>error|warning|notice) (?P<properties>[^\n]*?)::(?P<data>[^\n]*)")


def commands(output: str) -> list[tuple[str, dict[str, str], str]]:
    """What a runner reads: commands at the start of a line, properties and data unescaped."""

    def plain(value: str) -> str:
        for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(code, character)
        return value

    found = []
    for line in output.splitlines():
        if line.lstrip().startswith("::"):
            match = COMMAND.fullmatch(line)
            assert match, line
            pairs = dict(pair.split("=", 1) for pair in match["properties"].split(","))
            found.append((match["name"], {key: plain(value) for key, value in pairs.items()}, plain(match["data"])))
    return found


def test_new_findings_become_annotations_and_old_ones_do_not() -> None:
    error, warning = commands(render(failing(), CONTEXT))
    assert error[0] == "error"
    assert error[1] == {
        "file": "kernels/saxpy.s", "line": "40", "col": "2", "title": "wait.vmcnt.raw in saxpy",
    }  # fmt: skip
    assert "Producer: kernels/saxpy.s:31" in error[2] and "\nRepair: insert" in error[2]
    assert warning[0] == "warning"


def test_at_most_ten_of_a_level_are_shown_and_the_rest_is_counted() -> None:
    report = msgspec.structs.replace(failing(), findings=(MISSING_WAIT,) * 14 + (OCCUPANCY,) * 12)
    output = render(report, CONTEXT)
    assert Counter(name for name, _, _ in commands(output)) == {"error": 10, "warning": 10}
    assert "asmevo-gate: 6 more in the report (https://ci.example.org" in output


def test_an_annotation_over_lines_has_no_column() -> None:
    spanning = msgspec.structs.replace(MISSING_WAIT, end_line=42)
    ((_, properties, _),) = commands(render(msgspec.structs.replace(failing(), findings=(spanning,)), CONTEXT))
    assert properties["endLine"] == "42" and "col" not in properties


def test_not_checked_is_a_warning_that_says_what_to_do() -> None:
    ((name, properties, data),) = commands(render(not_checked(), CONTEXT))
    assert (name, properties["title"]) == ("warning", "asmevo-gate: not checked")
    assert "2 of 120 instructions" in data and "To resolve" in data


@for_any(text)
def test_no_text_makes_a_command_of_its_own(anything: str) -> None:
    output = render(with_text(anything), RenderContext())
    output.encode("utf-8")
    assert [name for name, _, _ in commands(output)] == ["error", "error"]
    assert [properties["file"] for _, properties, _ in commands(output)] == [
        clipped(visible(f"k/{anything}.s"), 8_192)
    ] * 2
    assert "##[" not in output


def test_the_summary_has_room_for_more_than_a_note_and_stays_within_its_limit() -> None:
    long = msgspec.structs.replace(MISSING_WAIT, message="é" * 20_000)
    report = msgspec.structs.replace(failing(), findings=(long,) * 3000)
    summary = render_summary(report, CONTEXT)
    assert 100_000 < len(summary.encode("utf-8")) <= 1_000_000
    assert "2,800 more in the" in summary
