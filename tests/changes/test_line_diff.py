"""Lines of a diff, as forges count them."""

from __future__ import annotations

from asmevo_gate.changes.line_diff import DiffLine, DiffReader

from .conftest import Scratch


def lines(*numbers: int) -> bytes:
    return b"".join(b"s_nop %d\n" % number for number in numbers)


def test_lines_of_a_changed_file(scratch: Scratch) -> None:
    scratch.stage("k.s", lines(*range(1, 31)))
    base = scratch.commit()
    # Line 10 is replaced by two, line 20 goes.
    scratch.stage("k.s", lines(*range(1, 10), 100, 101, *range(11, 20), *range(21, 31)))
    head = scratch.commit()
    diff = DiffReader(scratch.root, base, head, head).read("k.s")
    assert diff is not None
    assert diff.line(10) == DiffLine(10, 11, added=True, shown=True)
    assert diff.line(11) == DiffLine(11, 11, added=True, shown=True)
    assert diff.line(9) == DiffLine(9, 9, added=False, shown=True)
    assert diff.line(12) == DiffLine(12, 11, added=False, shown=True)
    assert diff.line(2) == DiffLine(2, 2, added=False, shown=False)
    assert diff.line(16) == DiffLine(16, 15, added=False, shown=False)
    assert diff.line(21) == DiffLine(21, 21, added=False, shown=True)
    assert diff.line(29) == DiffLine(29, 29, added=False, shown=False)


def test_lines_of_a_new_file_have_no_old_line(scratch: Scratch) -> None:
    base = scratch.git("rev-parse", "HEAD")
    scratch.stage("new.s", lines(1, 2, 3))
    head = scratch.commit()
    diff = DiffReader(scratch.root, base, head, head).read("new.s")
    assert diff is not None
    assert [diff.line(number) for number in (1, 2, 3)] == [DiffLine(n, 0, added=True, shown=True) for n in (1, 2, 3)]


def test_a_file_without_a_line_end_at_its_end(scratch: Scratch) -> None:
    scratch.stage("k.s", b"s_nop 1\ns_nop 2")
    base = scratch.commit()
    scratch.stage("k.s", b"s_nop 1\ns_nop 3")
    head = scratch.commit()
    diff = DiffReader(scratch.root, base, head, head).read("k.s")
    assert diff is not None
    assert diff.line(2) == DiffLine(2, 3, added=True, shown=True)


def test_no_place_in_a_file_that_differs_from_what_was_checked(scratch: Scratch) -> None:
    base = scratch.git("rev-parse", "HEAD")
    scratch.stage("new.s", lines(1))
    head = scratch.commit()
    scratch.stage("new.s", lines(2))
    checked = scratch.commit()
    reader = DiffReader(scratch.root, base, head, checked)
    assert reader.read("new.s") is None
    assert reader.read("kernels/copy.s") is None
    assert reader.read("missing.s") is None
