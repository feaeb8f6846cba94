"""A function in a thread beside the caller: its result, its failure, and that nobody leaves without it."""

from __future__ import annotations

import threading

import pytest

from asmevo_gate.gate.beside import beside


def test_the_function_runs_while_the_body_does() -> None:
    go_on = threading.Event()

    def work() -> int:
        assert go_on.wait(10)
        return 7

    with beside(work) as result:
        go_on.set()
        assert result() == 7
        assert result() == 7


def test_a_failure_is_raised_where_the_result_is_asked_for() -> None:
    def work() -> int:
        raise ValueError("of the thread")

    with pytest.raises(ValueError, match="of the thread"), beside(work) as result:
        result()


def test_leaving_the_body_waits_for_the_function() -> None:
    done = []
    with pytest.raises(KeyError), beside(lambda: done.append(1)):
        raise KeyError
    assert done == [1]


def test_what_is_not_wanted_is_not_run() -> None:
    ran = []
    with beside(lambda: ran.append(1), wanted=False) as result:
        assert result() is None
    assert ran == []
