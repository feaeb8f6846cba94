from __future__ import annotations

import re
import subprocess
import sys

import pytest

from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.terminal import render
from tests.report.samples import SAMPLES, empty, failing, not_checked, passing, with_text
from tests.report.strategies import for_any, text

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_pass_is_one_line() -> None:
    assert render(passing(), RenderContext()).count("\n") == 1
    assert "VGPRs allocated" in render(passing(), RenderContext(verbose=True))


def test_nothing_to_check_says_nothing() -> None:
    assert render(empty(), RenderContext()) == ""


def test_changes_come_first_then_findings_then_counts_then_the_verdict() -> None:
    shown = render(failing(), RenderContext())
    marks = [
        "occupancy (waves/SIMD)",
        "error[wait.vmcnt.raw]",
        "<- producer",
        "warning[register",
        "that base has",
    ]
    marks += ["coverage:", "asmevo-gate: fail: "]
    places = [shown.index(mark) for mark in marks]
    assert places == sorted(places)
    assert shown.rstrip("\n").rsplit("\n", 1)[-1].startswith("asmevo-gate: fail: ")


def test_the_caret_stands_below_the_column_also_after_tabs() -> None:
    lines = render(failing(), RenderContext()).splitlines()
    caret = next(number for number, line in enumerate(lines) if line.endswith("| " + " " * 4 + "^"))
    assert lines[caret - 1][lines[caret].index("^") :].startswith("FMA v5")


def test_what_was_not_checked_is_named_with_what_to_do() -> None:
    shown = render(not_checked(), RenderContext())
    assert "v_frobnicate_b32 v0, v1` no such instruction in the table of gfx90a" in shown
    assert "To resolve: " in shown
    assert "time limit" in shown


def test_more_findings_than_asked_for_are_counted() -> None:
    shown = render(failing(), RenderContext(max_findings=1, max_rows=2))
    assert "1 more new findings in the report" in shown
    assert "5 more changes in the report" in shown


@pytest.mark.parametrize("sample", SAMPLES)
def test_colour_changes_nothing_but_colour(sample: str) -> None:
    plain = render(SAMPLES[sample](), RenderContext())
    coloured = render(SAMPLES[sample](), RenderContext(colour=True))
    stripped = COLOUR.sub("", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()
    assert ("\x1b" in coloured) == bool(plain)


def test_plain_text_does_not_import_rich() -> None:
    program = (
        "import sys; from asmevo_gate.report.terminal import render; "
        "from asmevo_gate.report.context import RenderContext; from tests.report.samples import failing; "
        "render(failing(), RenderContext()); sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@for_any(text)
def test_no_text_controls_the_terminal_or_the_log(anything: str) -> None:
    shown = render(with_text(anything), RenderContext(verbose=True))
    shown.encode("utf-8")
    for line in shown.split("\n"):
        assert line.isprintable()
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
