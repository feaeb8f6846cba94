"""``asmevo-gate rewrite`` on a repository: what is shown, written, committed, and what stays as it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from asmevo_gate.cli.main import run
from tests.rewrite.kernels import kernel

BEFORE = kernel("  v_mov_b32_e32 v9, v4\n  v_add_f32_e32 v8, v9, v5\n")
AFTER = kernel("  v_add_f32_e32 v8, v4, v5\n")
X86 = ".text\n.globl f\nf:\n  movq %rdi, %rax\n  ret\n"


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one kernel, as the current directory."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PRE_COMMIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "-b", "main")
    git("config", "user.name", "Test")
    git("config", "user.email", "test@example.com")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.s").write_text(BEFORE)
    git("add", ".")
    git("commit", "--quiet", "-m", "start")
    return tmp_path


def test_diff_changes_nothing_and_applies(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rewrite", "kernels/k.s", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert (repository / "kernels/k.s").read_text() == BEFORE
    (repository / "p.patch").write_text(shown)
    git("apply", "p.patch")
    assert (repository / "kernels/k.s").read_text() == AFTER


def test_write_is_idempotent(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rewrite", "--write", "kernels/k.s"]) == 0
    assert "accepted (peephole)" in capsys.readouterr().out
    assert (repository / "kernels/k.s").read_text() == AFTER
    assert run(["rewrite", "--write", "kernels/k.s"]) == 0
    assert (repository / "kernels/k.s").read_text() == AFTER


def test_staged_changes_are_rewritten_but_never_over_others(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / "kernels/k.s"
    assert run(["rewrite", "--write"]) == 0
    assert path.read_text() == BEFORE, "nothing is staged"
    path.write_text(BEFORE.replace("v_add_f32", "v_mul_f32"))
    git("add", ".")
    path.write_text(BEFORE)
    assert run(["rewrite", "--write"]) == 2
    assert "not the one that was rewritten" in capsys.readouterr().err
    assert path.read_text() == BEFORE
    path.write_text(BEFORE.replace("v_add_f32", "v_mul_f32"))
    assert run(["rewrite", "--write"]) == 0
    assert path.read_text() == AFTER.replace("v_add_f32", "v_mul_f32")


def test_patch_files_and_branch(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--patch", "all.patch", "--format-patch", "out", "--branch", "asmevo/better"]
    assert run(["rewrite", "kernels/k.s", *arguments]) == 0
    capsys.readouterr()
    assert (repository / "kernels/k.s").read_text() == BEFORE
    assert git("status", "--short", "--untracked-files=no") == ""
    assert git("show", "asmevo/better:kernels/k.s") == AFTER
    assert git("log", "--format=%an", "asmevo/better", "-1") == "asmevo-gate\n"
    git("apply", "--check", "all.patch")
    (mail,) = (repository / "out").iterdir()
    git("am", str(mail))
    assert (repository / "kernels/k.s").read_text() == AFTER
    assert "proved for" in git("log", "-1", "--format=%B")


def test_branch_of_someone_else_is_kept(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git("branch", "work")
    git("commit", "--quiet", "--allow-empty", "-m", "more")
    git("branch", "-f", "other")
    git("reset", "--quiet", "--hard", "HEAD~1")
    assert run(["rewrite", "kernels/k.s", "--branch", "other"]) == 2
    assert "commits of others" in capsys.readouterr().err
    assert run(["rewrite", "kernels/k.s", "--branch", "main"]) == 2
    assert "checked out" in capsys.readouterr().err
    assert run(["rewrite", "kernels/k.s", "--branch", "no..name"]) == 2
    assert run(["rewrite", "kernels/k.s", "--branch", "work"]) == 0
    assert git("show", "work:kernels/k.s") == AFTER


def test_json_report_holds_accepted_and_rejected(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repository / "kernels/k.s"
    path.write_text(kernel("  v_mov_b32_e32 v9, v4\n  v_mul_f32_e32 v10, v9, v6\n  v_add_f32_e32 v8, v10, v5\n"))
    assert run(["rewrite", "kernels/k.s", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    states = {one["state"]: one for one in report["rewrites"]}
    assert set(states) == {"accepted", "rejected"}
    assert states["accepted"]["patch"].startswith("--- a/kernels/k.s")
    assert "verified: " in states["accepted"]["proof"]
    assert (
        states["accepted"]["metrics"]["instructions_after"] == states["accepted"]["metrics"]["instructions_before"] - 1
    )
    assert states["rejected"]["class"] in ("not_proved", "refuted")
    assert states["rejected"]["reason"]


def test_other_files_are_skipped_by_the_hook(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "f.s").write_text(X86)
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert run(["rewrite", "--write", "f.s", "kernels/k.s"]) == 0
    assert (repository / "f.s").read_text() == X86
    assert (repository / "kernels/k.s").read_text() == AFTER
    assert "f.s" not in capsys.readouterr().out


def test_a_model_that_is_not_there_is_one_message(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rewrite", "--write", "kernels/k.s", "--model-path", "none.gguf"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("asmevo-gate:") == 1 and "cannot read the model none.gguf" in printed.err
    assert (repository / "kernels/k.s").read_text() == AFTER


def test_settings_of_a_repository_cannot_name_a_model(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASMEVO_MODEL", raising=False)
    for key in ("model", "model_path", "llm"):
        (repository / ".asmevo-gate.yaml").write_text(f"{key}: evil.gguf\n")
        assert run(["rewrite", "kernels/k.s"]) == 2
        assert key in capsys.readouterr().err
