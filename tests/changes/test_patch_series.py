"""Patches become commits that git itself accepts, beside the work tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.changes.patch_series import Patch, commit_patches, push_branch
from asmevo_gate.errors import GateError, UsageError

from .conftest import KERNEL, Scratch

FIRST = """\
--- a/kernels/copy.s
+++ b/kernels/copy.s
@@ -4,3 +4,4 @@
   s_load_dwordx2 s[0:1], s[4:5], 0x0
   v_mov_b32_e32 v0, 0
+  s_nop 0
   s_waitcnt lgkmcnt(0)
"""
SECOND = """\
--- a/kernels/copy.s
+++ b/kernels/copy.s
@@ -8,2 +8,3 @@
   s_waitcnt vmcnt(0)
+  s_nop 1
   global_store_dword v0, v1, s[0:1] offset:4
"""


def test_the_mails_apply_with_git_am(scratch: Scratch, tmp_path: Path) -> None:
    series = commit_patches(
        scratch.root, "HEAD", [Patch(FIRST, "Wait a little\n\nFor a reason."), Patch(SECOND, "More")]
    )
    assert series.left_out == () and len(series.files) == 2
    assert scratch.git("status", "--porcelain") == ""
    assert scratch.git("rev-parse", "HEAD") == series.base
    for number, mail in enumerate(series.files):
        (tmp_path / f"{number}.patch").write_text(mail)
        scratch.git("am", "--quiet", str(tmp_path / f"{number}.patch"))
    assert scratch.git("rev-parse", "HEAD^{tree}") == scratch.git("rev-parse", f"{series.tip}^{{tree}}")
    assert (scratch.root / "kernels/copy.s").read_bytes().count(b"s_nop") == 2


def test_equal_patches_give_equal_commits(scratch: Scratch) -> None:
    patches = [Patch(FIRST, "Wait a little")]
    assert commit_patches(scratch.root, "HEAD", patches) == commit_patches(scratch.root, "HEAD", patches)


def test_a_patch_that_does_not_apply_is_named(scratch: Scratch) -> None:
    wrong = FIRST.replace("v_mov_b32_e32", "v_not_b32_e32")
    series = commit_patches(scratch.root, "HEAD", [Patch(wrong, "Wrong one\n\nLong text"), Patch(SECOND, "More")])
    assert series.left_out == ("Wrong one",)
    assert len(series.files) == 1


def test_no_patch_gives_no_commit(scratch: Scratch) -> None:
    series = commit_patches(scratch.root, "HEAD", [])
    assert (series.tip, series.files) == (series.base, ())


def test_a_patch_cannot_leave_the_repository(scratch: Scratch, tmp_path: Path) -> None:
    outside = "--- /dev/null\n+++ b/../stolen.s\n@@ -0,0 +1 @@\n+s_nop 0\n"
    assert commit_patches(scratch.root, "HEAD", [Patch(outside, "Out")]).left_out == ("Out",)
    assert not (tmp_path / "stolen.s").exists()


def test_a_branch_is_pushed_again_over_an_earlier_run(scratch: Scratch, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    scratch.git("clone", "--quiet", "--bare", scratch.root.as_uri(), str(remote))
    scratch.git("remote", "add", "origin", remote.as_uri())
    for patch in (Patch(FIRST, "One"), Patch(SECOND, "Two")):
        series = commit_patches(scratch.root, "HEAD", [patch])
        push_branch(scratch.root, series.tip, "asmevo/suggestions-1")
        assert Scratch(remote).git("rev-parse", "refs/heads/asmevo/suggestions-1") == series.tip
    assert (scratch.root / "kernels/copy.s").read_bytes() == KERNEL


def test_only_branches_of_the_gate_are_overwritten(scratch: Scratch) -> None:
    with pytest.raises(UsageError, match="not below 'asmevo/'"):
        push_branch(scratch.root, "HEAD", "main")
    with pytest.raises(UsageError, match="not a branch name"):
        push_branch(scratch.root, "HEAD", "asmevo/a b")
    with pytest.raises(GateError, match="cannot be pushed"):
        push_branch(scratch.root, "HEAD", "asmevo/fine")
