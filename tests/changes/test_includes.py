"""Files that include a changed file are looked at, with the include's text of each side."""

from __future__ import annotations

import pytest

from asmevo_gate.changes import Selection, range_changes, staged_changes

from .conftest import Scratch


@pytest.fixture
def included(scratch: Scratch) -> Scratch:
    """``user.s`` includes ``common/outer.inc``, which includes ``common/inner.inc``."""
    scratch.stage("common/inner.inc", b".set TILE, 4\n")
    scratch.stage("common/outer.inc", b'  .include "inner.inc" ; sizes\n')
    scratch.stage("user.s", b'.include "common/outer.inc"\ns_endpgm\n')
    scratch.stage("kernels/unrelated.s", b'.include "other/inner.inc"\n; inner.inc\n')
    scratch.stage("kernels/cpp.S", b'#  include "../common/inner.inc"\n')
    scratch.commit()
    scratch.stage("common/inner.inc", b".set TILE, 8\n")
    return scratch


def test_including_files_are_found_through_others(included: Scratch) -> None:
    found = staged_changes(included.root)
    assert [(change.path, change.kind) for change in found.changes] == [
        ("kernels/cpp.S", "unchanged"),
        ("user.s", "unchanged"),
    ]
    assert found.changes[0].reason == "includes common/inner.inc, which changed"
    assert found.changes[1].reason == "includes common/outer.inc, which changed"
    assert found.changes[1].base == found.changes[1].head
    assert found.read("base", "common/inner.inc") == b".set TILE, 4\n"
    assert found.read("head", "common/inner.inc") == b".set TILE, 8\n"


def test_including_files_are_found_in_a_range(included: Scratch) -> None:
    included.commit()
    included.write("user.s", b"; not committed")
    found = range_changes(included.root, "HEAD~1")
    assert [change.path for change in found.changes] == ["kernels/cpp.S", "user.s"]
    assert found.read("head", "common/inner.inc") == b".set TILE, 8\n"


def test_deleted_include_counts(included: Scratch) -> None:
    included.git("rm", "--quiet", "--force", "common/inner.inc")
    assert [change.path for change in staged_changes(included.root).changes] == ["kernels/cpp.S", "user.s"]


def test_ignored_and_changed_files_are_not_repeated(included: Scratch) -> None:
    included.stage("user.s", b'.include "common/outer.inc"\ns_nop 0\n')
    found = staged_changes(included.root, Selection(ignore=("kernels/",)))
    assert [(change.path, change.kind) for change in found.changes] == [("user.s", "modified")]


def test_files_that_include_each_other_end(scratch: Scratch) -> None:
    scratch.stage("a.inc", b'.include "b.inc"\n')
    scratch.stage("b.inc", b'.include "a.inc"\n')
    scratch.stage("c.s", b'.include "b.inc"\n')
    scratch.commit()
    scratch.stage("a.inc", b'.include "b.inc"\n; changed\n')
    assert [change.path for change in staged_changes(scratch.root).changes] == ["c.s"]


def test_grep_settings_of_the_user_do_not_matter(included: Scratch) -> None:
    for name, value in {
        "grep.patternType": "perl",
        "grep.lineNumber": "true",
        "grep.fullName": "false",
        "color.ui": "always",
        "color.grep": "always",
        "submodule.recurse": "true",
    }.items():
        included.git("config", name, value)
    assert len(staged_changes(included.root / "common").changes) == 2


def test_name_with_pattern_characters_is_no_pattern(scratch: Scratch) -> None:
    scratch.stage("t.le[1].inc", b"; one\n")
    scratch.stage("a.s", b'.include "t.le[1].inc"\n')
    scratch.stage("b.s", b'.include "tile1.inc"\n')
    scratch.commit()
    scratch.stage("t.le[1].inc", b"; two\n")
    assert [change.path for change in staged_changes(scratch.root).changes] == ["a.s"]
