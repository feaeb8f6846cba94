"""What a run by pre-commit looks at."""

from __future__ import annotations

import pytest

from asmevo_gate.changes import Selection, hook_changes

from .conftest import KERNEL, Scratch

EDITED = KERNEL.replace(b"offset:4", b"offset:8")


@pytest.fixture
def staged(scratch: Scratch) -> Scratch:
    """One file changed, one deleted, one that includes a changed file."""
    scratch.stage("gone.s", b"s_nop 1\n")
    scratch.stage("user.s", b'.include "tile.inc"\n')
    scratch.stage("tile.inc", b"; one\n")
    scratch.stage("quiet.s", b"s_nop 2\n")
    scratch.commit()
    scratch.git("rm", "--quiet", "gone.s")
    scratch.stage("tile.inc", b"; two\n")
    scratch.stage("kernels/copy.s", EDITED)
    return scratch


def test_commit_with_its_deleted_and_including_files(staged: Scratch) -> None:
    found = hook_changes(["kernels/copy.s", "tile.inc"], staged.root, environment={})
    assert [change.path for change in found.changes] == ["gone.s", "kernels/copy.s", "user.s"]
    assert found.skipped == ()
    assert found.read("head", "tile.inc") == b"; two\n"


def test_excluded_files_are_skipped(staged: Scratch) -> None:
    found = hook_changes(["tile.inc"], staged.root, environment={})
    assert [change.path for change in found.changes] == ["gone.s", "user.s"]
    assert [item.path for item in found.skipped] == ["kernels/copy.s"]


def test_all_files(staged: Scratch) -> None:
    found = hook_changes(["kernels/copy.s", "quiet.s", "tile.inc", "user.s"], staged.root, environment={})
    kinds = {change.path: change.kind for change in found.changes}
    assert kinds == {
        "gone.s": "deleted",
        "kernels/copy.s": "modified",
        "user.s": "unchanged",
        "quiet.s": "unchanged",
    }


def test_range_of_revisions(staged: Scratch) -> None:
    staged.commit()
    refs = {"PRE_COMMIT_FROM_REF": "HEAD~1", "PRE_COMMIT_TO_REF": "HEAD"}
    found = hook_changes(["kernels/copy.s", "tile.inc"], staged.root, environment=refs)
    assert [change.path for change in found.changes] == ["gone.s", "kernels/copy.s", "user.s"]
    change = found.changes[1]
    assert change.base is not None and change.base.data == KERNEL


def test_own_ignore_globs_hold(staged: Scratch) -> None:
    found = hook_changes(["kernels/copy.s", "quiet.s"], staged.root, Selection(ignore=("*.s",)), environment={})
    assert found.changes == ()
    assert {item.path for item in found.skipped} == {"gone.s", "kernels/copy.s", "quiet.s"}
