"""What a branch changes against its base, also in clones that lack history."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.changes import range_changes
from asmevo_gate.errors import GateError, UsageError

from .conftest import KERNEL, Scratch

EDITED = KERNEL.replace(b"offset:4", b"offset:8")


@pytest.fixture
def branches(scratch: Scratch) -> Scratch:
    """``main`` went on with one file after ``side`` left it with three changes; ``side`` is checked out."""
    scratch.stage("gone.s", b"s_nop 7\ns_endpgm\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "-b", "side")
    scratch.stage("kernels/copy.s", EDITED)
    scratch.git("rm", "--quiet", "gone.s")
    scratch.stage("new.s", b"s_sleep 1\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "main")
    scratch.stage("kernels/main.s", b"s_nop 5\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "side")
    return scratch


def clone(source: Scratch, tmp_path: Path, *options: str) -> Scratch:
    """A clone, as a CI job makes it."""
    target = tmp_path / "clone"
    source.git("clone", "--quiet", *options, source.root.as_uri(), str(target))
    return Scratch(target.resolve())


def test_only_what_the_branch_changed(branches: Scratch) -> None:
    found = range_changes(branches.root, "main")
    kinds = {change.path: change.kind for change in found.changes}
    assert kinds == {"gone.s": "deleted", "kernels/copy.s": "modified", "new.s": "added"}
    assert "merge base of main and HEAD" in found.base_name
    assert found.read("base", "gone.s") == b"s_nop 7\ns_endpgm\n"
    assert found.read("head", "gone.s") is None


def test_work_tree_and_index_do_not_matter(branches: Scratch) -> None:
    branches.stage("staged.s")
    branches.write("kernels/copy.s", b"unfinished")
    paths = [change.path for change in range_changes(branches.root / "kernels", "main").changes]
    assert paths == ["gone.s", "kernels/copy.s", "new.s"]


def test_head_can_be_named(branches: Scratch) -> None:
    branches.git("checkout", "--quiet", "main")
    assert len(range_changes(branches.root, "main", "side").changes) == 3
    assert range_changes(branches.root, "main", "main").changes == ()


def test_without_merge_base_the_other_branch_counts_too(branches: Scratch) -> None:
    found = range_changes(branches.root, "main", merge_base=False)
    assert {change.path: change.kind for change in found.changes}["kernels/main.s"] == "deleted"


def test_rename_in_a_range(branches: Scratch) -> None:
    branches.git("mv", "new.s", "newer.s")
    branches.commit()
    (change,) = range_changes(branches.root, "HEAD~1").changes
    assert (change.kind, change.old_path, change.path) == ("renamed", "new.s", "newer.s")


def test_result_of_a_merge_is_compared_with_the_target_branch(branches: Scratch) -> None:
    branches.git("checkout", "--quiet", "--detach", "main")
    branches.git("merge", "--quiet", "--no-ff", "side", "-m", "merge")
    assert len(range_changes(branches.root, "main").changes) == 3


def test_unknown_revision_is_an_error(branches: Scratch) -> None:
    with pytest.raises(GateError, match="base revision 'nowhere' is not in this repository"):
        range_changes(branches.root, "nowhere")
    with pytest.raises(GateError, match="head revision"):
        range_changes(branches.root, "main", "f" * 40)


def test_null_revision_is_an_error(branches: Scratch) -> None:
    with pytest.raises(GateError, match="null revision"):
        range_changes(branches.root, "0" * 40)


@pytest.mark.parametrize("revision", ["--output=stolen", "-h", "", "main\nside", "\0"])
def test_options_are_no_revisions(branches: Scratch, revision: str) -> None:
    with pytest.raises(UsageError):
        range_changes(branches.root, revision)
    assert not (branches.root / "stolen").exists()


def test_range_syntax_is_no_revision(branches: Scratch) -> None:
    with pytest.raises(GateError, match="not in this repository"):
        range_changes(branches.root, "main..side")


def test_blob_is_no_revision(branches: Scratch) -> None:
    with pytest.raises(GateError, match="not in this repository"):
        range_changes(branches.root, "HEAD:kernels/copy.s")


def test_unrelated_histories_are_an_error(branches: Scratch) -> None:
    branches.git("checkout", "--quiet", "--orphan", "island")
    branches.stage("island.s", b"; not the first commit of main made again within the same second\n")
    branches.commit()
    with pytest.raises(GateError, match="no common ancestor"):
        range_changes(branches.root, "main")


def test_shallow_clone_without_the_base_says_what_to_fetch(branches: Scratch, tmp_path: Path) -> None:
    shallow = clone(branches, tmp_path, "--depth=1", "--branch=side")
    base = branches.git("rev-parse", "main")
    with pytest.raises(GateError, match="not in this shallow clone") as caught:
        range_changes(shallow.root, base)
    assert f"git fetch --depth=200 origin {base}" in caught.value.repair


def test_shallow_clone_without_the_merge_base_says_what_to_fetch(branches: Scratch, tmp_path: Path) -> None:
    shallow = clone(branches, tmp_path, "--depth=1", "--branch=side")
    shallow.git("fetch", "--quiet", "--depth=1", "origin", "main:main")
    with pytest.raises(GateError, match="merge base of 'main' and 'HEAD' is not in this shallow clone") as caught:
        range_changes(shallow.root, "main")
    assert "git fetch --unshallow" in caught.value.repair
    shallow.git("fetch", "--quiet", "--unshallow", "origin", "main", "side")
    assert len(range_changes(shallow.root, "main").changes) == 3


def test_shallow_clone_compares_two_commits_without_history(branches: Scratch, tmp_path: Path) -> None:
    shallow = clone(branches, tmp_path, "--depth=1", "--branch=side")
    base = branches.git("merge-base", "main", "side")
    branches.git("config", "uploadpack.allowAnySHA1InWant", "true")
    shallow.git("fetch", "--quiet", "--depth=1", "origin", base)
    assert len(range_changes(shallow.root, base, merge_base=False).changes) == 3


def test_partial_clone_fetches_what_it_needs(branches: Scratch, tmp_path: Path) -> None:
    branches.git("config", "uploadpack.allowFilter", "true")
    branches.git("config", "uploadpack.allowAnySHA1InWant", "true")
    partial = clone(branches, tmp_path, "--filter=blob:none", "--no-checkout", "--branch=side")
    found = range_changes(partial.root, "origin/main")
    deleted = found.changes[0].base
    assert deleted is not None and deleted.data == b"s_nop 7\ns_endpgm\n"


def test_repository_without_a_commit_has_no_range(empty: Scratch) -> None:
    with pytest.raises(GateError, match="base revision"):
        range_changes(empty.root, "main")
