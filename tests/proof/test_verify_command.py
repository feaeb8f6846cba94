"""``asmevo-gate verify``: exit codes and the JSON of the contract."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from asmevo_gate.cli.main import run
from tests.proof.kernels import KERNEL


def verify(tmp_path: Path, old: str, new: str, *options: str) -> int:
    (tmp_path / "old.s").write_text(old)
    (tmp_path / "new.s").write_text(new)
    return run(["verify", str(tmp_path / "old.s"), str(tmp_path / "new.s"), *options])


def test_proved_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = KERNEL.replace("v_add_u32_e32 v3, v3, v2", "v_add_u32_e32 v3, v2, v3")
    assert verify(tmp_path, KERNEL, new, "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["answer"] == "proved"
    assert [sorted(block) for block in answer["blocks"]] == [["answer", "counterexample", "label", "line", "reason"]]


def test_refuted_exits_1_and_shows_the_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = KERNEL.replace("v_add_u32_e32 v3, v3, v2", "v_sub_u32_e32 v3, v3, v2")
    assert verify(tmp_path, KERNEL, new, "--format", "json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["answer"] == "refuted"
    example = answer["blocks"][0]["counterexample"]
    assert example["register"] == "v3"
    assert set(example["inputs"]) >= {"v2", "v3"}
    assert verify(tmp_path, KERNEL, new) == 1
    assert "v3 in lane" in capsys.readouterr().out


def test_a_new_hazard_is_not_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dpp = "v_mov_b32_dpp v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    old = KERNEL.replace("  v_add_u32_e32 v3, v3, v2", f"  v_add_u32_e32 v2, v3, v2\n  s_nop 1\n  {dpp}")
    assert verify(tmp_path, old, old.replace("  s_nop 1\n", "")) == 1
    assert "haz" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "k:\n  s_endpgm\n"])
def test_a_file_without_target_exits_2(tmp_path: Path, text: str) -> None:
    assert verify(tmp_path, text, text) == 2


def test_a_missing_file_exits_2(tmp_path: Path) -> None:
    (tmp_path / "old.s").write_text(KERNEL)
    assert run(["verify", str(tmp_path / "old.s"), str(tmp_path / "none.s")]) == 2


def test_versions_for_different_targets_exit_2(tmp_path: Path) -> None:
    assert verify(tmp_path, KERNEL, KERNEL.replace("gfx942", "gfx90a")) == 2
    assert verify(tmp_path, KERNEL, KERNEL.replace("gfx942", "gfx90a"), "--gpu", "gfx90a") in (0, 1)


def test_commuted_floats_need_the_option(tmp_path: Path) -> None:
    new = KERNEL.replace("v_mul_f32_e32 v3, v2, v1", "v_mul_f32_e32 v3, v1, v2")
    assert verify(tmp_path, KERNEL, new) == 1
    assert verify(tmp_path, KERNEL, new, "--nan-payloads", "any") == 0


def test_a_missing_library_exits_2_and_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert verify(tmp_path, KERNEL, KERNEL) == 2
    assert "pip install" in capsys.readouterr().err
