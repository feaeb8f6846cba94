"""A function in a copy of the process: its answer, and every way in which there is none."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from asmevo_gate.gate.file_task import TimeUp, time_limit
from asmevo_gate.gate.forked import CAN_FORK, forked

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="a copy of a process is only made on Linux")


def no_children() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return True


def test_the_answer_comes_from_another_process() -> None:
    with forked(lambda: str(os.getpid()).encode()) as copy:
        answer = copy.answer()
    assert answer is not None
    assert int(answer) != os.getpid()
    assert no_children()


def test_an_answer_may_be_larger_than_a_pipe_holds() -> None:
    with forked(lambda: b"x" * 3_000_000) as copy:
        assert copy.answer() == b"x" * 3_000_000


def test_it_works_beside_the_body() -> None:
    read_end, write_end = os.pipe()
    with forked(lambda: os.read(read_end, 1)) as copy:
        os.write(write_end, b"y")  # the copy waits for what only the body sends
        assert copy.answer() == b"y"
    os.close(read_end)
    os.close(write_end)


def test_nothing_is_copied_that_is_not_wanted() -> None:
    with forked(lambda: pytest.fail("made here"), wanted=False) as copy:
        assert copy.answer() is None


@pytest.mark.parametrize(
    "failing",
    [
        lambda: 1 // 0,
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: os.kill(os.getpid(), signal.SIGINT),
        lambda: os._exit(3),
        lambda: "text that cannot be sent as it is",
    ],
)
def test_a_copy_that_fails_has_no_answer_and_says_nothing(failing: object, capfd: pytest.CaptureFixture[str]) -> None:
    with forked(failing) as copy:  # type: ignore[arg-type]
        assert copy.answer() is None
    assert no_children()
    assert capfd.readouterr() == ("", "")


def test_a_body_that_fails_ends_the_copy() -> None:
    start = time.monotonic()
    with pytest.raises(ValueError, match="body"), forked(lambda: time.sleep(60) or b""):
        raise ValueError("body")
    assert time.monotonic() - start < 30
    assert no_children()


def test_the_time_limit_holds_while_the_answer_is_awaited() -> None:
    start = time.monotonic()
    with pytest.raises(TimeUp), time_limit(0.2), forked(lambda: time.sleep(60) or b"") as copy:
        copy.answer()
    assert time.monotonic() - start < 30
    assert no_children()


def test_without_another_process_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "fork", refused)
    with forked(lambda: b"never") as copy:
        assert copy.answer() is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_copy_whose_parent_was_killed_ends() -> None:
    """The copy holds the write end of a pipe that the test reads to its end."""
    read_end, write_end = os.pipe()
    parent = os.fork()
    if not parent:
        with forked(lambda: time.sleep(0.5) or b"x" * 3_000_000):
            os.write(write_end, b"started")
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(write_end)
    os.waitpid(parent, 0)
    with time_limit(30), os.fdopen(read_end, "rb") as stream:
        assert stream.read() == b"started"
