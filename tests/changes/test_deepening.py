"""Shallow clones, as CI systems make them, get the history that a comparison needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.changes import range_changes
from asmevo_gate.changes.deepening import History, without_credentials
from asmevo_gate.errors import GateError, UsageError

from .conftest import KERNEL, Scratch


@pytest.fixture
def upstream(scratch: Scratch) -> Scratch:
    """Eighty commits on ``main`` after ``side`` left it; ``side`` has three and changes one kernel."""
    scratch.git("checkout", "--quiet", "-b", "side")
    scratch.stage("kernels/copy.s", KERNEL.replace(b"offset:4", b"offset:8"))
    for _ in range(3):
        scratch.commit()
    scratch.git("checkout", "--quiet", "main")
    for _ in range(80):
        scratch.commit()
    return scratch


def shallow_clone(upstream: Scratch, tmp_path: Path) -> Scratch:
    target = tmp_path / "clone"
    upstream.git("clone", "--quiet", "--depth=1", "--branch=side", upstream.root.as_uri(), str(target))
    return Scratch(target.resolve())


def test_a_shallow_clone_is_deepened_to_the_merge_base(upstream: Scratch, tmp_path: Path) -> None:
    clone = shallow_clone(upstream, tmp_path)
    said: list[str] = []
    history = History(clone.root, said.append)
    tip = history.branch_tip("main")
    head = clone.git("rev-parse", "HEAD")
    merge_base = history.deepen_to_merge_base(tip, head)
    assert merge_base == upstream.git("merge-base", "main", "side")
    changed = range_changes(clone.root, merge_base, head, merge_base=False).changes
    assert [change.path for change in changed] == ["kernels/copy.s"]
    assert said[0].startswith("git fetch --depth=1 origin +refs/heads/main")
    assert any("--deepen=50" in line for line in said)


def test_a_base_commit_is_fetched_by_its_id(upstream: Scratch, tmp_path: Path) -> None:
    clone = shallow_clone(upstream, tmp_path)
    base = upstream.git("merge-base", "main", "side")
    history = History(clone.root)
    assert not history.has(base)
    assert history.commit(base, "base") == base
    assert history.has(base)


def test_a_full_clone_fetches_no_history(upstream: Scratch) -> None:
    said: list[str] = []
    history = History(upstream.root, said.append)
    merge_base = upstream.git("merge-base", "main", "side")
    assert history.deepen_to_merge_base("main", "side") == merge_base
    assert said == []


def test_a_commit_that_no_one_has_is_an_error_in_words(upstream: Scratch, tmp_path: Path) -> None:
    history = History(shallow_clone(upstream, tmp_path).root)
    with pytest.raises(GateError, match="not in this shallow clone, and cannot be fetched"):
        history.commit("f" * 40, "base")
    with pytest.raises(GateError, match="null revision"):
        history.commit("0" * 40, "base")


def test_a_branch_that_does_not_exist_is_an_error_in_words(upstream: Scratch, tmp_path: Path) -> None:
    history = History(shallow_clone(upstream, tmp_path).root)
    with pytest.raises(GateError, match="the target branch 'gone' cannot be fetched"):
        history.branch_tip("gone")


@pytest.mark.parametrize("branch", ["--upload-pack=touch stolen", "a b", "", "a..b", "-x"])
def test_what_is_no_branch_name_never_reaches_git_fetch(upstream: Scratch, branch: str) -> None:
    with pytest.raises(UsageError, match="not a branch name"):
        History(upstream.root).branch_tip(branch)
    assert not (upstream.root / "stolen").exists()


def test_a_remote_that_is_gone_leaves_the_known_branch(upstream: Scratch, tmp_path: Path) -> None:
    target = tmp_path / "clone"
    upstream.git("clone", "--quiet", upstream.root.as_uri(), str(target))
    clone = Scratch(target.resolve())
    clone.git("remote", "set-url", "origin", (tmp_path / "nowhere").as_uri())
    said: list[str] = []
    assert History(clone.root, said.append).branch_tip("main") == upstream.git("rev-parse", "main")
    assert any("could not be fetched" in line for line in said)


def test_unrelated_histories_are_an_error_after_all_history_is_there(upstream: Scratch, tmp_path: Path) -> None:
    upstream.git("checkout", "--quiet", "--orphan", "island")
    upstream.stage("island.s", b"; not the first commit of main made again within the same second\n")
    island = upstream.commit()
    upstream.git("checkout", "--quiet", "--force", "main")
    clone = shallow_clone(upstream, tmp_path)
    history = History(clone.root)
    history.commit(island, "base")
    with pytest.raises(GateError, match="no common ancestor"):
        history.deepen_to_merge_base(island, clone.git("rev-parse", "HEAD"))
    assert clone.git("rev-parse", "--is-shallow-repository") == "false"


def test_parents_are_read_where_the_clone_ends(upstream: Scratch, tmp_path: Path) -> None:
    clone = shallow_clone(upstream, tmp_path)
    parents = History(clone.root).parents("HEAD")
    assert parents == (upstream.git("rev-parse", "side~1"),)


def test_messages_hide_the_credentials_of_an_address() -> None:
    text = "unable to access 'https://gitlab-ci-token:glcbt-64_secret@host.example/a/b.git/'"
    assert without_credentials(text) == "unable to access 'https://[hidden]@host.example/a/b.git/'"
