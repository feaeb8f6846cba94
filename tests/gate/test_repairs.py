"""A suggested repair is one that the gate has tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asmevo_gate.changes import range_changes
from asmevo_gate.gate.repairs import Repair, tried_repairs, unified_diff
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"
REQUEST = Request(assemble=False)


def git(root: Path, *arguments: str, stdin: str | None = None) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True, input=stdin).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("block_sum.s", "saxpy.s"):
        (tmp_path / name).write_text((EXAMPLES / "kernels" / name).read_text())
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "step")


def repairs(root: Path) -> tuple[Repair, ...]:
    with range_changes(root, "HEAD~1") as changes:
        report = run_gate(changes, Settings(root=root), REQUEST)
        return tried_repairs(report, changes, Settings(root=root), REQUEST)


def test_a_dropped_wait_is_put_back_by_a_patch_that_turns_the_gate_green(repository: Path) -> None:
    changed = (EXAMPLES / "change" / "block_sum.s").read_text()
    (repository / "block_sum.s").write_text(changed)
    commit(repository)
    (repair,) = repairs(repository)
    assert repair.inserted == "  s_waitcnt lgkmcnt(0)"
    assert changed.splitlines()[repair.line - 1].strip() == "v_add_f32 v6, v5, v6"
    git(repository, "apply", "-", stdin=repair.patch)
    assert (repository / "block_sum.s").read_text() == (EXAMPLES / "kernels" / "block_sum.s").read_text()


def test_missing_wait_states_are_counted(repository: Path) -> None:
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nk:\n  v_mov_b32 v1, 0\n'
    dpp = "\tv_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n  s_endpgm"
    (repository / "dpp.s").write_text(text + dpp)
    commit(repository)
    (repair,) = repairs(repository)
    assert repair.inserted == "\ts_nop 1"
    git(repository, "apply", "-", stdin=repair.patch)
    assert (repository / "dpp.s").read_text() == text + "\ts_nop 1\n" + dpp


def test_what_does_not_help_is_not_suggested(repository: Path) -> None:
    # What is inserted before a line with a label is not on the way of the jump to it.
    text = (EXAMPLES / "change" / "block_sum.s").read_text()
    text = text.replace("  v_add_f32 v6, v5, v6", "  s_cbranch_vccz .Ljoin\n.Ljoin: v_add_f32 v6, v5, v6")
    (repository / "block_sum.s").write_text(text)
    commit(repository)
    with range_changes(repository, "HEAD~1") as changes:
        report = run_gate(changes, Settings(root=repository), REQUEST)
    assert [one.insertion for one in report.findings if one.severity == "error"] == ["s_waitcnt lgkmcnt(0)"]
    assert repairs(repository) == ()


def test_lines_that_end_in_two_ways_get_no_patch(repository: Path) -> None:
    text = (EXAMPLES / "change" / "block_sum.s").read_text()
    (repository / "block_sum.s").write_bytes(text.replace("\n", "\r\n").encode())
    commit(repository)
    assert repairs(repository) == ()


def test_a_patch_of_a_last_line_without_a_line_end_applies(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "k.s").write_text("a\nb")
    git(tmp_path, "apply", "-", stdin=unified_diff("k.s", "a\nb", "a\nx\nb"))
    assert (tmp_path / "k.s").read_text() == "a\nx\nb"


@pytest.mark.parametrize("name", ["a\nb.s", "a\tb.s", "a\x1bb.s"])
def test_a_file_name_that_would_break_a_patch_gets_none(repository: Path, name: str) -> None:
    (repository / name).write_text((EXAMPLES / "change" / "block_sum.s").read_text())
    commit(repository)
    assert repairs(repository) == ()


@pytest.mark.parametrize("name", ["with space.s", "größe.s", "it's.s", "b/a.s", "-x.s"])
def test_a_patch_applies_whatever_the_name(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text((EXAMPLES / "change" / "block_sum.s").read_text())
    commit(repository)
    (repair,) = repairs(repository)
    git(repository, "apply", "-", stdin=repair.patch)
    assert (repository / name).read_text() == (EXAMPLES / "kernels" / "block_sum.s").read_text()
