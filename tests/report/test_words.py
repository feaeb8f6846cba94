"""Changes and verdicts in words."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from asmevo_gate.cost.interval import Interval
from asmevo_gate.gate.result import BlockReport, Coverage, KernelReport, Metrics, Unknown
from asmevo_gate.report.arrangement import unique_fingerprints
from asmevo_gate.report.context import rule_help
from asmevo_gate.report.deltas import METRICS, changed_metrics, hot_block_changes, kernel_changes, number_text
from asmevo_gate.report.verdict import coverage_sentence, verdict_sentence
from asmevo_gate.rules.rule import Example, Rule
from tests.report.samples import MISSING_WAIT, OCCUPANCY, failing, not_checked, passing


def word(name: str, base: float | Interval | None, head: float | Interval | None) -> str:
    kernel = KernelReport("k", "k.s", "gfx90a", Metrics(**{name: head}), Metrics(**{name: base}))
    (change,) = kernel_changes(kernel)
    return change.word


def test_every_metric_of_the_model_has_words() -> None:
    assert {metric.name for metric in METRICS} == set(Metrics.__struct_fields__)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("vgpr_live_max", "down"), ("vgpr_allocated", "down"), ("agpr_allocated", "down"), ("sgpr_allocated", "down"),
        ("lds_bytes", "down"), ("scratch_bytes", "down"), ("cycles", "down"), ("occupancy_waves_per_simd", "up"),
        ("ipc", "up"),
    ],
)  # fmt: skip
def test_a_metric_knows_which_way_is_better(name: str, better: str) -> None:
    assert word(name, 4, 8) == ("better" if better == "up" else "worse")
    assert word(name, 8, 4) == ("worse" if better == "up" else "better")
    assert word(name, 8, 8) == "same"
    assert word(name, None, 8) == word(name, 8, None) == "not known"


def test_more_instructions_are_neither_better_nor_worse() -> None:
    assert (word("instructions", 4, 8), word("instructions", 8, 4)) == ("more", "fewer")


def test_intervals_are_compared_end_with_end() -> None:
    assert word("cycles", Interval(10, 20), Interval(15, 40)) == "worse"
    assert word("cycles", Interval(10, 20), Interval(10, 19)) == "better"
    assert word("ipc", Interval(0.1, 2), Interval(0.2, 2)) == "better"
    assert word("cycles", Interval(10, 20), Interval(9, 21)) == "not clear"
    assert word("cycles", Interval(10, 20), 15.0) == "not clear"
    assert word("cycles", Interval(10, 20), 9.0) == "better"
    assert word("cycles", Interval(10, 20), Interval(10, 20)) == "same"


def test_worse_comes_before_better() -> None:
    words = [change.word for change in changed_metrics(failing())]
    assert words == sorted(words, key=["worse", "not clear", "better", "more"].index)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (24, "24"), (24.0, "24"), (0.123456, "0.123"), (1234.56, "1234.6"), (Interval(1, 2.5), "1 to 2.5"),
        (None, "not known"),
    ],
)  # fmt: skip
def test_numbers_are_short(number: float | Interval | None, shown: str) -> None:
    assert number_text(number) == shown


def test_a_growth_from_zero_has_no_percentage() -> None:
    kernel = KernelReport("k", "k.s", "g", Metrics(scratch_bytes=64), Metrics(scratch_bytes=0))
    assert kernel_changes(kernel)[0].amount == "+64"


def test_each_verdict_is_explained() -> None:
    assert verdict_sentence(failing()).startswith("1 new error and 1 new warning in 3 kernels checked;")
    assert verdict_sentence(passing()) == "2 kernels checked, no new findings; metrics: 1 better."
    assert verdict_sentence(not_checked()) == "2 of 120 instructions could not be modelled, so this is no pass."
    warned = msgspec.structs.replace(failing(), verdict="warn", findings=(OCCUPANCY,))
    assert verdict_sentence(warned) == (
        "1 new warning in 3 kernels checked, below the severity that fails the gate (error)."
    )


def test_not_checked_says_what_even_when_only_whole_files_are_missing() -> None:
    report = msgspec.structs.replace(not_checked(), coverage=Coverage(5, 5))
    assert verdict_sentence(report).startswith("1 file could not be read")
    line = Unknown("k.s", 1, ".weird", "not evaluated")
    report = msgspec.structs.replace(report, coverage=Coverage(5, 5, (line,)), findings=(MISSING_WAIT,))
    assert verdict_sentence(report) == ("1 line could not be modelled, so this is no pass; besides, 1 new error.")


def test_coverage_is_never_rounded_up_to_all() -> None:
    report = msgspec.structs.replace(passing(), coverage=Coverage(100_000, 99_999))
    assert coverage_sentence(report).endswith("(99.9 %)")


def test_fingerprints_are_unique_and_keep_no_line() -> None:
    moved = msgspec.structs.replace(MISSING_WAIT, line=1, column=1, end_line=1)
    prints = unique_fingerprints((MISSING_WAIT, moved, msgspec.structs.replace(MISSING_WAIT, gpu="gfx942")))
    assert len(set(prints)) == 3
    assert unique_fingerprints((moved,)) == unique_fingerprints((MISSING_WAIT,))


def test_a_gate_that_never_fails_says_so() -> None:
    warned = msgspec.structs.replace(failing(), verdict="warn")
    assert verdict_sentence(warned, None).endswith("but the gate is set never to fail.")


def test_a_failure_does_not_hide_what_was_not_modelled() -> None:
    report = msgspec.structs.replace(failing(), coverage=not_checked().coverage)
    assert verdict_sentence(report).endswith("; 2 lines could not be modelled.")


class _Documented(Rule):
    """A rule for this test.

    What it does:
        Nothing.

    Why it matters:
        It does not.

    Repair:
        None.

    Sources:
        None.
    """

    id = "test.documented"
    title = "A rule with all sections"
    family = "isa"
    severity = "info"
    bad = (Example("gfx90a", "v_bad\n"),)
    good = (Example("gfx90a", "v_good\n"),)


def test_rule_help_is_made_from_the_class() -> None:
    known = rule_help([_Documented], "https://example.org/rules/")["test.documented"]
    assert known.uri == "https://example.org/rules/test.documented.md"
    for part in ("A rule with all sections", "## What it does\n\nNothing.", "```asm\nv_bad\n```", "v_good"):
        assert part in known.text


def test_the_package_itself_imports_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); import asmevo_gate.report; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['asmevo_gate', 'asmevo_gate.report']"


def test_the_hot_block_is_shown_where_its_cycles_differ_from_base() -> None:
    blocks = (
        BlockReport("entry", 1, 4, 4, 0, cycles=400.0, base_cycles=300.0, ipc=0.5, base_ipc=0.6),
        BlockReport(".Lloop", 5, 9, 5, 1, cycles=20.0, base_cycles=40.0, ipc=1.0, base_ipc=0.5),
        BlockReport(".Lsame", 10, 12, 3, 2, cycles=90.0, base_cycles=90.0, ipc=1.0, base_ipc=1.0),
    )
    kernel = KernelReport("k", "k.s", "gfx942", Metrics(), Metrics(), {}, blocks)
    shown = [(change.metric.label, change.base, change.head, change.word) for change in hot_block_changes(kernel)]
    assert shown == [
        ("cycles of block .Lloop", 40.0, 20.0, "better"),
        ("IPC of block .Lloop", 0.5, 1.0, "better"),
    ]
