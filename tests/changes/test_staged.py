"""What a commit changes, as a hook sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from asmevo_gate.changes import Change, ChangeSet, Selection, staged_changes, tracked_files
from asmevo_gate.errors import GateError, LimitError

from .conftest import KERNEL, Scratch

EDITED = KERNEL.replace(b"offset:4", b"offset:8")


def only(changes: ChangeSet) -> Change:
    """The one change that there is."""
    assert len(changes.changes) == 1, changes.changes
    return changes.changes[0]


def reasons(changes: ChangeSet) -> dict[str, str]:
    """Why each skipped file is skipped."""
    return {item.path: item.reason for item in changes.skipped}


def test_nothing_staged_is_no_change(scratch: Scratch) -> None:
    found = staged_changes(scratch.root)
    assert (found.changes, found.skipped) == ((), ())
    assert (found.base_name, found.head_name, found.root) == ("HEAD", "index", scratch.root)


def test_other_files_are_no_change(scratch: Scratch) -> None:
    scratch.stage("README.md", b"more\n")
    scratch.stage("notes.txt", KERNEL)
    assert staged_changes(scratch.root).changes == ()


def test_modified_file_has_both_sides(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    change = only(staged_changes(scratch.root))
    assert (change.kind, change.path, change.old_path) == ("modified", "kernels/copy.s", None)
    assert change.base is not None and change.base.data == KERNEL
    assert change.head is not None and change.head.data == EDITED


def test_staged_content_counts_not_the_work_tree(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    scratch.write("kernels/copy.s", b"unfinished")
    change = only(staged_changes(scratch.root))
    assert change.head is not None and change.head.data == EDITED


def test_unstaged_change_is_no_change(scratch: Scratch) -> None:
    scratch.write("kernels/copy.s", EDITED)
    assert staged_changes(scratch.root).changes == ()


def test_added_and_deleted_files(scratch: Scratch) -> None:
    scratch.git("rm", "--quiet", "kernels/copy.s")
    scratch.stage("kernels/other.S", b"s_endpgm\n")
    added_last = {change.path: change for change in staged_changes(scratch.root).changes}
    deleted, added = added_last["kernels/copy.s"], added_last["kernels/other.S"]
    assert (deleted.kind, deleted.head) == ("deleted", None)
    assert deleted.base is not None and deleted.base.data == KERNEL
    assert (added.kind, added.base) == ("added", None)


def test_every_default_suffix_is_assembly(scratch: Scratch) -> None:
    for name in ("a.s", "b.S", "c.asm", "d.o", "e.inc", "f.s.txt", "s"):
        scratch.stage(name, KERNEL + name.encode())
    assert [change.path for change in staged_changes(scratch.root).changes] == ["a.s", "b.S", "c.asm"]


def test_own_patterns_and_ignored_files(scratch: Scratch) -> None:
    scratch.stage("a.sp3", b"v_mov_b32 v0, v1\n")
    scratch.stage("third_party/b.sp3", b"v_mov_b32 v0, v2\n")
    scratch.stage("c.s", b"v_mov_b32 v0, v3\n")
    found = staged_changes(scratch.root, Selection(assembly=("*.sp3",), ignore=("third_party/",)))
    assert only(found).path == "a.sp3"
    assert reasons(found) == {"third_party/b.sp3": "ignored by the settings"}


def test_rename_is_found_with_its_edit(scratch: Scratch) -> None:
    scratch.git("mv", "kernels/copy.s", "kernels/copy_f32.s")
    scratch.stage("kernels/copy_f32.s", EDITED)
    change = only(staged_changes(scratch.root))
    assert (change.kind, change.old_path, change.path) == ("renamed", "kernels/copy.s", "kernels/copy_f32.s")
    assert change.base is not None and change.base.path == "kernels/copy.s" and change.base.data == KERNEL
    assert change.head is not None and change.head.data == EDITED


@pytest.mark.parametrize("setting", ["false", "true", "copies"])
def test_rename_detection_does_not_depend_on_the_users_settings(scratch: Scratch, setting: str) -> None:
    scratch.git("config", "diff.renames", setting)
    scratch.git("config", "diff.relative", "true")
    scratch.git("config", "diff.noprefix", "true")
    scratch.git("mv", "kernels/copy.s", "moved.s")
    assert only(staged_changes(scratch.root)).kind == "renamed"


def test_copy_is_a_new_file(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    scratch.stage("kernels/copy2.s", KERNEL)
    found = {change.path: change for change in staged_changes(scratch.root).changes}
    assert (found["kernels/copy2.s"].kind, found["kernels/copy2.s"].base) == ("added", None)
    assert found["kernels/copy.s"].kind == "modified"


def test_mode_change_keeps_both_sides(scratch: Scratch) -> None:
    scratch.git("update-index", "--chmod=+x", "kernels/copy.s")
    change = only(staged_changes(scratch.root))
    assert change.kind == "mode"
    assert change.base is not None and change.head is not None and change.base.data == change.head.data == KERNEL


@pytest.mark.skipif(sys.platform == "win32", reason="names that Windows does not allow")
@pytest.mark.parametrize(
    "raw",
    [
        b"caf\xe9.s",
        "日本語.s".encode(),
        b"with space.s",
        b'quote".s',
        b"tab\t.s",
        b"line\nbreak.s",
        b"-rf.s",
        b":(top)x.s",
        b"star*.s",
        b"back\\slash.s",
        b"--output=x.s",
    ],
)
@pytest.mark.parametrize("quote", ["true", "false"])
def test_odd_names(scratch: Scratch, raw: bytes, quote: str) -> None:
    scratch.git("config", "core.quotepath", quote)
    (scratch.root / "kernels" / os.fsdecode(raw)).write_bytes(KERNEL + b"s_nop 0\n")
    scratch.git("add", "--all")
    change = only(staged_changes(scratch.root))
    assert change.path.encode("utf-8", "surrogateescape") == b"kernels/" + raw
    assert change.head is not None and change.head.data == KERNEL + b"s_nop 0\n"
    assert staged_changes(scratch.root).read("head", change.path) == change.head.data
    scratch.commit()
    scratch.git("mv", b"kernels/" + raw, b"kernels/plain.s")
    moved = only(staged_changes(scratch.root))
    assert (moved.kind, moved.old_path) == ("renamed", change.path)


def test_symbolic_link_is_skipped(scratch: Scratch, tmp_path: Path) -> None:
    secret = tmp_path / "secret.s"
    secret.write_bytes(b"secret")
    (scratch.root / "link.s").symlink_to(secret)
    scratch.git("add", "link.s")
    found = staged_changes(scratch.root)
    assert found.changes == ()
    assert "symbolic link" in reasons(found)["link.s"]
    assert found.read("head", "link.s") is None


def test_file_that_became_a_link_is_skipped_and_a_link_that_became_a_file_is_new(scratch: Scratch) -> None:
    (scratch.root / "link.s").symlink_to("kernels/copy.s")
    scratch.git("add", "link.s")
    scratch.commit()
    (scratch.root / "link.s").unlink()
    scratch.stage("link.s", EDITED)
    (scratch.root / "kernels/copy.s").unlink()
    (scratch.root / "kernels/copy.s").symlink_to("../link.s")
    scratch.git("add", "kernels/copy.s")
    found = staged_changes(scratch.root)
    change = only(found)
    assert (change.path, change.kind, change.base) == ("link.s", "added", None)
    assert "symbolic link" in reasons(found)["kernels/copy.s"]


def test_submodule_is_skipped(scratch: Scratch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "--quiet", str(scratch.root), str(other)], check=True)
    scratch.git("submodule", "--quiet", "add", str(other), "vendor.s")
    found = staged_changes(scratch.root)
    assert found.changes == ()
    assert "submodule" in reasons(found)["vendor.s"]


def test_submodule_is_reported_whatever_the_settings_say(scratch: Scratch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "--quiet", str(scratch.root), str(other)], check=True)
    scratch.git("submodule", "--quiet", "add", str(other), "vendor")
    scratch.commit()
    scratch.git("config", "diff.ignoreSubmodules", "all")
    scratch.git("config", "submodule.vendor.ignore", "all")
    Scratch(scratch.root / "vendor").git("commit", "--quiet", "--allow-empty", "-m", "step")
    scratch.git("add", "--force", "vendor")
    scratch.git(
        "update-index",
        "--cacheinfo",
        f"160000,{Scratch(scratch.root / 'vendor').git('rev-parse', 'HEAD')},vendor",
    )
    assert "submodule" in reasons(staged_changes(scratch.root))["vendor"]


def test_first_commit_has_everything_new(empty: Scratch) -> None:
    empty.stage("a.s")
    found = staged_changes(empty.root)
    assert only(found).kind == "added"
    assert "first commit" in found.base_name
    assert found.read("base", "a.s") is None


def test_first_commit_in_a_sha256_repository(tmp_path: Path) -> None:
    root = tmp_path / "sha256"
    root.mkdir()
    scratch = Scratch(root)
    scratch.git("init", "--quiet", "--object-format=sha256")
    scratch.stage("a.s")
    assert only(staged_changes(root)).kind == "added"
    scratch.commit()
    scratch.stage("a.s", EDITED)
    change = only(staged_changes(root))
    assert change.base is not None and change.base.data == KERNEL


def test_orphan_branch_has_everything_new(scratch: Scratch) -> None:
    scratch.git("checkout", "--quiet", "--orphan", "fresh")
    assert only(staged_changes(scratch.root)).kind == "added"


@pytest.mark.parametrize("damage", ["commit", "branch", "detached"])
def test_damaged_head_is_no_first_commit(scratch: Scratch, damage: str) -> None:
    scratch.stage("new.s", EDITED)
    head = scratch.git("rev-parse", "HEAD")
    if damage == "branch":
        (scratch.root / ".git/refs/heads/main").write_text("no commit\n")
    else:
        (scratch.root / ".git/objects" / head[:2] / head[2:]).unlink()
    if damage == "detached":
        (scratch.root / ".git/HEAD").write_text(head + "\n")
    with pytest.raises(GateError, match="HEAD names a commit that is missing"):
        staged_changes(scratch.root)


def test_linked_work_tree_has_its_own_index(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    linked = Scratch((tmp_path / "linked").resolve())
    assert (linked.root / ".git").is_file()
    linked.stage("kernels/copy.s", EDITED)
    assert only(staged_changes(linked.root)).kind == "modified"
    assert staged_changes(linked.root).root == linked.root
    assert staged_changes(scratch.root).changes == ()


def test_subdirectory_sees_the_whole_repository(scratch: Scratch) -> None:
    scratch.git("config", "diff.relative", "true")
    scratch.stage("kernels/copy.s", EDITED)
    scratch.stage("top.s")
    scratch.stage("tile.inc", b"")
    scratch.stage("user.s", b'.include "tile.inc"\n')
    scratch.commit()
    scratch.stage("tile.inc", b"s_nop 0\n")
    scratch.stage("top.s", EDITED)
    found = staged_changes(scratch.root / "kernels")
    assert [change.path for change in found.changes] == ["top.s", "user.s"]
    assert found.root == scratch.root
    assert found.read("head", "tile.inc") == b"s_nop 0\n"
    assert found.read("base", "tile.inc") == b""


def _hook(scratch: Scratch, tmp_path: Path, name: str = "pre-commit") -> Path:
    """A real hook that writes down what it sees."""
    report = tmp_path / "seen"
    hook = scratch.root / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    package = Path(__file__).parents[2]
    hook.write_text(
        f"#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -c '\n"
        "from pathlib import Path\n"
        "from asmevo_gate.changes import staged_changes\n"
        "found = staged_changes(Path.cwd())\n"
        'lines = [f"{c.kind} {c.path} {len(c.head.data)}\\n" for c in found.changes]\n'
        f'Path("{report}").write_text("".join(lines))\n'
        "'\n"
    )
    hook.chmod(0o755)
    return report


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (["commit", "-m", "x"], ["staged.s"]),
        (["commit", "-a", "-m", "x"], ["kernels/copy.s", "staged.s"]),
        (["commit", "-m", "x", "--", "kernels/copy.s"], ["kernels/copy.s"]),
        (["commit", "-m", "x", "--include", "--", "kernels/copy.s"], ["kernels/copy.s", "staged.s"]),
    ],
)
def test_running_hook_sees_the_temporary_index(
    scratch: Scratch, tmp_path: Path, arguments: list[str], seen: list[str]
) -> None:
    report = _hook(scratch, tmp_path)
    scratch.stage("staged.s", b"s_endpgm\n")
    scratch.write("kernels/copy.s", EDITED + b"\n")
    scratch.git(*arguments)
    assert [line.split()[1] for line in report.read_text().splitlines()] == seen


def test_hook_in_a_linked_work_tree_has_git_dir_set(scratch: Scratch, tmp_path: Path) -> None:
    report = _hook(scratch, tmp_path)
    scratch.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    linked = Scratch(tmp_path / "linked")
    linked.write("kernels/copy.s", EDITED)
    linked.git("commit", "-a", "-m", "x")
    assert report.read_text().split()[:2] == ["modified", "kernels/copy.s"]


def _diverge(scratch: Scratch) -> None:
    """``main`` and ``side`` change different files after a common start."""
    scratch.stage("common.inc", b"; one\n")
    scratch.stage("user.s", b'.include "common.inc"\ns_endpgm\n')
    scratch.commit()
    scratch.git("checkout", "--quiet", "-b", "side")
    scratch.stage("kernels/side.s", b"s_nop 1\ns_endpgm\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "main")


def test_merge_leaves_out_what_it_takes_over(scratch: Scratch) -> None:
    _diverge(scratch)
    scratch.stage("kernels/main.s", b"s_nop 2\ns_endpgm\n")
    scratch.commit()
    scratch.git("merge", "--quiet", "--no-commit", "--no-ff", "side")
    found = staged_changes(scratch.root)
    assert found.changes == ()
    assert "as in the merged commit" in reasons(found)["kernels/side.s"]
    scratch.stage("kernels/side.s", b"s_nop 3\ns_endpgm\n")
    assert only(staged_changes(scratch.root)).path == "kernels/side.s"


def test_hook_of_a_merge_leaves_out_what_it_takes_over(scratch: Scratch, tmp_path: Path) -> None:
    _diverge(scratch)
    scratch.stage("late.s", b'.include "common.inc"\ns_nop 4\n')
    scratch.commit()
    scratch.git("checkout", "--quiet", "side")
    scratch.stage("common.inc", b"; two\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "main")
    report = _hook(scratch, tmp_path, "pre-merge-commit")
    scratch.git("merge", "--quiet", "--no-ff", "--no-edit", "side")
    assert [line.split()[1] for line in report.read_text().splitlines()] == ["late.s"]


def test_merge_checks_a_file_whose_include_comes_from_the_other_parent(scratch: Scratch) -> None:
    _diverge(scratch)
    scratch.git("checkout", "--quiet", "side")
    scratch.stage("common.inc", b"; two\n")
    scratch.commit()
    scratch.git("checkout", "--quiet", "main")
    scratch.stage("late.s", b'.include "common.inc"\ns_nop 4\n')
    scratch.commit()
    scratch.git("merge", "--quiet", "--no-commit", "--no-ff", "side")
    found = staged_changes(scratch.root)
    assert [change.path for change in found.changes] == ["late.s"]
    assert set(reasons(found)) == {"kernels/side.s", "user.s"}


def test_unresolved_conflict_is_an_error(scratch: Scratch) -> None:
    scratch.git("checkout", "--quiet", "-b", "side")
    scratch.stage("kernels/copy.s", EDITED)
    scratch.commit()
    scratch.git("checkout", "--quiet", "main")
    scratch.stage("kernels/copy.s", KERNEL.replace(b"offset:4", b"offset:16"))
    scratch.commit()
    scratch.git("merge", "side", check=False)
    with pytest.raises(GateError, match="conflict") as caught:
        staged_changes(scratch.root)
    assert caught.value.file == "kernels/copy.s"


def test_intent_to_add_is_not_staged(scratch: Scratch) -> None:
    scratch.write("new.s")
    scratch.git("add", "--intent-to-add", "new.s")
    found = staged_changes(scratch.root)
    assert (found.changes, found.skipped) == ((), ())


def test_line_endings_are_those_of_the_blob(scratch: Scratch) -> None:
    scratch.git("config", "core.autocrlf", "true")
    scratch.stage("kernels/copy.s", EDITED.replace(b"\n", b"\r\n"))
    change = only(staged_changes(scratch.root))
    assert change.head is not None and change.head.data == EDITED


def test_clean_filter_has_been_applied(scratch: Scratch) -> None:
    scratch.git("config", "filter.upper.clean", "tr a-z A-Z")
    scratch.stage(".gitattributes", b"*.s filter=upper\n")
    scratch.stage("f.s", b"s_endpgm\n")
    found = {change.path: change for change in staged_changes(scratch.root).changes}
    head = found["f.s"].head
    assert head is not None and head.data == b"S_ENDPGM\n"


def test_lfs_pointer_is_skipped_at_head_and_no_base(scratch: Scratch) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
    scratch.stage("big.s", pointer)
    found = staged_changes(scratch.root)
    assert found.changes == ()
    assert "Git LFS" in reasons(found)["big.s"]
    scratch.commit()
    scratch.stage("big.s")
    change = only(staged_changes(scratch.root))
    assert (change.base, change.kind) == (None, "modified")
    assert "Git LFS" in change.reason


def test_large_file_is_an_error_that_names_the_limit(scratch: Scratch) -> None:
    scratch.stage("big.s", b";" * 2000)
    with pytest.raises(LimitError, match="max_file_bytes") as caught:
        staged_changes(scratch.root, Selection(max_file_bytes=1999))
    assert caught.value.file == "big.s"
    assert only(staged_changes(scratch.root, Selection(max_file_bytes=2000))).path == "big.s"


def test_many_files_together_are_limited(scratch: Scratch) -> None:
    for number in range(4):
        scratch.stage(f"{number}.s", b";" * 1000 + str(number).encode())
    with pytest.raises(LimitError, match="max_total_bytes"):
        staged_changes(scratch.root, Selection(max_total_bytes=3000))


def test_missing_object_is_an_error(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    identifier = scratch.git("rev-parse", ":kernels/copy.s")
    (scratch.root / ".git/objects" / identifier[:2] / identifier[2:]).unlink()
    with pytest.raises(GateError, match="missing or damaged") as caught:
        staged_changes(scratch.root)
    assert caught.value.file == "kernels/copy.s"


def test_damaged_object_is_an_error(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    identifier = scratch.git("rev-parse", ":kernels/copy.s")
    place = scratch.root / ".git/objects" / identifier[:2] / identifier[2:]
    place.chmod(0o644)
    place.write_bytes(place.read_bytes()[:20] + b"\0" * 20)
    with pytest.raises(GateError, match=identifier[:12]):
        staged_changes(scratch.root)


def test_directory_without_a_repository_is_an_error(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(GateError, match="not in a git repository"):
        staged_changes(plain)


def test_bare_repository_is_an_error(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("clone", "--quiet", "--bare", str(scratch.root), str(tmp_path / "bare"))
    with pytest.raises(GateError, match="bare repository"):
        staged_changes(tmp_path / "bare")


def test_missing_git_is_an_error(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GateError, match="git was not found"):
        staged_changes(scratch.root)


def test_pathspec_variables_of_the_caller_do_not_matter(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.git("mv", "kernels/copy.s", "moved.s")
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    assert only(staged_changes(scratch.root)).kind == "renamed"


def test_nothing_is_written_and_no_lock_is_taken(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", EDITED)
    before = (scratch.root / ".git/index").stat().st_mtime_ns
    (scratch.root / ".git/index.lock").touch()
    assert only(staged_changes(scratch.root)).kind == "modified"
    assert (scratch.root / ".git/index").stat().st_mtime_ns == before


def test_tracked_files_are_all_listed_with_their_base(scratch: Scratch) -> None:
    scratch.stage("new.s", EDITED)
    scratch.stage("skip/old.s", EDITED)
    (scratch.root / "link.s").symlink_to("new.s")
    scratch.git("add", "link.s")
    found = tracked_files(scratch.root / "kernels", Selection(ignore=("skip/",)))
    assert [(change.path, change.kind) for change in found.changes] == [
        ("kernels/copy.s", "unchanged"),
        ("new.s", "added"),
    ]
    assert set(reasons(found)) == {"link.s", "skip/old.s"}
