"""Progress is one line of a terminal that is gone at the end, and nothing on a short run."""

from __future__ import annotations

import io

import pytest

from asmevo_gate.cli import progress
from asmevo_gate.cli.progress import Progress


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_a_long_run_says_how_far_it_is_and_cleans_up(clock: Clock) -> None:
    terminal = io.StringIO()
    say = Progress(terminal)
    for done in range(1, 11):
        clock.now += 1
        say(done, 10)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[0] == ""
    assert shown[1] == "asmevo-gate: 2 of 10 files, about 8 s left"
    assert shown[-1] == ""


def test_files_from_the_cache_do_not_count_for_the_time_left(clock: Clock) -> None:
    terminal = io.StringIO()
    say = Progress(terminal)
    clock.now = 10
    say(91, 100)
    assert terminal.getvalue().endswith("91 of 100 files, about 2 min left")


def test_a_short_run_says_nothing(clock: Clock) -> None:
    terminal = io.StringIO()
    say = Progress(terminal)
    clock.now = 1
    say(1, 2)
    say(2, 2)
    assert terminal.getvalue() == ""
