"""What git writes is read whole or refused: no record is half read, and none ends the run without words."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.changes.difference import differences, renames
from asmevo_gate.changes.line_diff import LineDiff
from asmevo_gate.changes.objects import Objects
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.changes.repository import Repository
from asmevo_gate.changes.sides import Listing
from asmevo_gate.errors import GateError
from tests.fuzz.mutation import damaged_bytes

_ID = b"1" * 40
_RECORDS = b"".join(
    b":100644 100755 %b %b %b\0%b\0" % (_ID, _ID[::-1], status, path)
    for status, path in ((b"M", b"a.s"), (b"T", b"dir/\xff.s"), (b"A", "é b\n.s".encode()))
)
_RENAMES = b":100644 100644 %b %b R086\0old.s\0new.s\0" % (_ID, _ID)
_DIFF = b"diff --git a/k b/k\n--- a/k\n+++ b/k\n@@ -1,2 +1,3 @@ f\n a\n-b\n+c\n+d\n@@ -9 +10,0 @@\n-x\n\\ No newline\n"


class _Answers:
    """A git that answers with the same bytes whatever it is asked."""

    def __init__(self, out: bytes) -> None:
        self._out = out

    def run(self, *_arguments: str, **_options: object) -> bytes:
        return self._out


def _git(out: bytes) -> Repository:
    return cast("Repository", _Answers(out))


@settings(max_examples=300, deadline=None)
@given(damaged_bytes(_RECORDS) | damaged_bytes(_RENAMES) | st.binary(max_size=80))
def test_damaged_records_are_read_or_refused(out: bytes) -> None:
    for head in (None, "HEAD"):
        try:
            for one in differences(_git(out), "base", head):
                assert one.status
                assert one.path
            renames(_git(out), "base", head, patterns(("*.s",)))
        except GateError as error:
            assert "git" in error.message


def test_good_records_are_read() -> None:
    assert [one.status for one in differences(_git(_RECORDS), "base", None)] == ["M", "T", "A"]
    assert renames(_git(_RENAMES), "base", None, patterns(("*.s",))) == {"new.s": "old.s"}


@pytest.mark.parametrize("end", range(1, len(_RECORDS)))
def test_an_answer_that_was_cut_off_is_not_taken_for_a_shorter_one(end: int) -> None:
    if _RECORDS[:end].endswith(b".s\0"):
        return
    with pytest.raises(GateError):
        differences(_git(_RECORDS[:end]), "base", None)


_TREE = b"100644 blob %b\ta.s\x00120000 blob %b\tdir/\xff.s\0" % (_ID, _ID)
_INDEX = b"100644 %b 0\ta.s\x00100755 %b 2\tdir/\xff.s\0" % (_ID, _ID)


@settings(max_examples=200, deadline=None)
@given(damaged_bytes(_TREE) | damaged_bytes(_INDEX) | st.binary(max_size=80))
def test_a_damaged_list_of_files_is_read_or_refused(out: bytes) -> None:
    for commit in (None, "HEAD"):
        try:
            Listing(_git(out), cast("Objects", None), commit).entries()
        except GateError as error:
            assert "git" in error.message


def test_a_good_list_of_files_is_read() -> None:
    assert set(Listing(_git(_TREE), cast("Objects", None), "HEAD").entries()) == {"a.s", "dir/\udcff.s"}
    assert set(Listing(_git(_INDEX), cast("Objects", None), None).entries()) == {"a.s"}


@settings(max_examples=300, deadline=None)
@given(damaged_bytes(_DIFF) | st.binary(max_size=80))
def test_a_damaged_diff_gives_lines(diff: bytes) -> None:
    found = LineDiff(diff, "k", "k")
    for number in (1, 2, 10, 1_000_000):
        assert found.line(number).new == number
