"""``asm-evo-skill`` as a user runs it: flags, log lines, files; and its honest answer on a published example."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from asmevo_gate.cli.skill import run
from asmevo_gate.verify import installed_gpu
from tests.rewrite.tiny_model import write_tiny_model

KERNEL = """\
{target}.text
.globl block
.p2align 8
.type block,@function
block:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s2, s[0:1], 0x8
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  global_load_dword v2, v0, s[4:5] offset:256
  global_load_dword v5, v0, s[4:5] offset:512
{body}
  global_store_dword v0, v8, s[4:5]
  s_endpgm
.rodata
.amdhsa_kernel block
  .amdhsa_next_free_vgpr 12
  .amdhsa_next_free_sgpr 6
  .amdhsa_accum_offset 12
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
"""
TARGET = '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n'
# The published example: a wait, then add, multiply, multiply-accumulate, add, a move from an SGPR, add.
EXAMPLE = """\
  s_waitcnt vmcnt(0)
  v_add_f32 v3, v1, v2
  v_mul_f32 v4, v3, v1
  v_mac_f32 v5, v4, v3
  v_add_f32 v6, v5, v4
  v_mov_b32 v7, s2   ; from an SGPR
  v_add_f32 v8, v6, v7"""
# Every result is needed by the next instruction, and nothing is done twice.
TIGHT = """\
  s_waitcnt vmcnt(0)
  v_add_f32 v3, v1, v2
  v_add_f32 v8, v3, v5"""


def write(path: Path, body: str, target: str = TARGET) -> Path:
    path.write_bytes(KERNEL.format(target=target, body=body).encode())
    return path


def log(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_published_example_loses_its_move_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = write(tmp_path / "kernel.s", EXAMPLE), tmp_path / "kernel_opt.s"
    arguments = ["--input", str(source), "--output", str(output), "--gpu", "gfx90a", "--rocm", "6.1.3"]
    assert run([*arguments, "--verbose", "--debug-constraint"]) == 0
    old, new = source.read_text().splitlines(), output.read_text().splitlines()
    # The move is the only instruction that AMD hardware does not need: a VALU instruction reads one SGPR for nothing.
    expected = [line for line in old if "v_mov_b32" not in line]
    expected[expected.index("  v_add_f32 v8, v6, v7")] = "  v_add_f32 v8, v6, s2"
    assert new == expected
    lines = log(capsys)
    assert not [line for line in lines if line.startswith("[DEBUG]")], "the constraints have nothing to say about it"
    assert any(re.search(r"diff applied: 1 lines removed, 0 moves inserted, .*cycles 28 -> 24", line) for line in lines)


def test_log_has_every_step_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = write(tmp_path / "kernel.s", EXAMPLE), tmp_path / "out.s"
    assert run(["-i", str(source), "-o", str(output), "--verbose"]) == 0
    lines = log(capsys)
    assert all(line.startswith("[INFO] ") for line in lines)
    steps = [
        r"input parsed: .*kernel\.s, 1 functions, 16 instructions, GPU gfx90a \(named in the file\), ROCm ",
        r"basic blocks found: 1; processing block 1 \(block block, lines 7-22\)",
        r"constraints injected: gfx90a: VGPR banks unknown, VALU pipe depth 4 clk, DPP on \d+ instructions",
        r"proposer: .*context 0 of 0 tokens",
        r"accepted: compliance check passed \((static|compile) level\), proved for \d+ live registers: ",
        r"diff applied: 1 lines removed, 0 moves inserted, estimated IPC gain [+-]",
        r"output written: .*out\.s \(1 blocks rewritten, each proved\)",
    ]
    places = [next((at for at, line in enumerate(lines) if re.search(step, line)), -1) for step in steps]
    assert -1 not in places, lines
    assert places == sorted(places)


def test_nothing_to_improve_is_a_copy_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = KERNEL.format(target=TARGET, body=TIGHT).replace("\n", "\r\n").encode() + b"  ; no line feed at the end"
    source, output = tmp_path / "kernel.s", tmp_path / "out.s"
    source.write_bytes(text)
    assert run(["-i", str(source), "-o", str(output), "--verbose"]) == 0
    assert output.read_bytes() == text
    assert "copied byte for byte" in log(capsys)[-1]


def test_mac_merge_is_refused_by_the_proof_and_not_proposed_when_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "  s_waitcnt vmcnt(0)\n  v_mul_f32 v3, v1, v2\n  v_add_f32 v8, v3, v5"
    source, output = write(tmp_path / "kernel.s", body), tmp_path / "out.s"
    assert run(["-i", str(source), "-o", str(output), "--verbose"]) == 0
    refused = [line for line in log(capsys) if "rejected (" in line and "fuse" in line]
    assert refused and all(re.search(r"rejected \((not_proved|refuted)\)", line) for line in refused)
    assert output.read_bytes() == source.read_bytes()
    assert run(["-i", str(source), "-o", str(output), "--verbose", "--no-mac-merge"]) == 0
    assert not [line for line in log(capsys) if "fuse '" in line]


def test_constraint_violations_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = (
        "  s_waitcnt vmcnt(0)\n  v_add_f32 v3, v1, v2\n"
        "  v_mov_b32_dpp v8, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    )
    source = write(tmp_path / "kernel.s", body)
    assert run(["-i", str(source), "-o", str(tmp_path / "out.s"), "--debug-constraint"]) == 0
    lines = log(capsys)
    assert [line.split(":")[0] for line in lines[:6]] == [
        "[DEBUG] constraint violation at line 16",
        "[DEBUG] failed edge",
        "[DEBUG] condition",
        "[DEBUG] current state",
        "[DEBUG] why",
        "[DEBUG] root cause",
    ]


def test_gpu_is_found_on_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = write(tmp_path / "kernel.s", EXAMPLE, target=""), tmp_path / "out.s"
    monkeypatch.setattr(installed_gpu, "_programs", lambda: iter(()))
    monkeypatch.setattr(installed_gpu, "_driver_gpus", lambda topology: iter(()))
    assert run(["-i", str(source), "-o", str(output)]) == 2
    assert "--gpu" in capsys.readouterr().err
    assert not output.exists()
    program = tmp_path / "rocm_agent_enumerator"
    program.write_text("#!/bin/sh\necho gfx000\necho gfx90a\n")
    program.chmod(0o755)
    monkeypatch.setattr(installed_gpu, "_programs", lambda: iter((program,)))
    assert run(["-i", str(source), "-o", str(output), "--verbose"]) == 0
    assert "GPU gfx90a (found by rocm_agent_enumerator)" in log(capsys)[0]


def test_driver_and_rocm_directory_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in (("0", 0), ("1", 90010), ("2", 110501)):
        (tmp_path / "nodes" / node).mkdir(parents=True)
        (tmp_path / "nodes" / node / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    monkeypatch.setattr(installed_gpu, "_programs", lambda: iter(()))
    found = installed_gpu.installed_gpu(tmp_path / "nodes")
    assert found is not None and found.value == "gfx90a"
    monkeypatch.delenv("ROCM_PATH", raising=False)
    for name, version in (("rocm-6.1.3", "6.1.3-122\n"), ("rocm-6.10.0", "6.10.0-9\n")):
        (tmp_path / "opt" / name / ".info").mkdir(parents=True)
        (tmp_path / "opt" / name / ".info" / "version").write_text(version)
    rocm = installed_gpu.installed_rocm(tmp_path / "opt")
    assert rocm is not None and rocm.value == "6.10.0"
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "opt" / "rocm-6.1.3"))
    assert installed_gpu.installed_rocm(tmp_path / "opt") == ("6.1.3", str(tmp_path / "opt/rocm-6.1.3/.info/version"))


BAD_MODELS = [
    ({}, "cannot read the model"),
    ({"model/adapter_config.json": "{}", "model/adapter_model.safetensors": "x"}, "merge the adapter"),
    ({"model/config.json": "{}", "model/model.safetensors": "x"}, "convert_hf_to_gguf.py"),
    ({"model/notes.txt": "x"}, "holds no model"),
    ({"model/a.gguf": "GGUF", "model/b.gguf": "GGUF"}, "2 GGUF files"),
    ({"model": "not a model"}, "is no GGUF file"),
]


@pytest.mark.parametrize(("files", "words"), BAD_MODELS)
def test_a_model_that_cannot_be_used_is_one_message_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], words: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    source, output, plain = write(tmp_path / "kernel.s", EXAMPLE), tmp_path / "out.s", tmp_path / "plain.s"
    assert run(["-i", str(source), "-o", str(plain)]) == 0
    capsys.readouterr()
    assert run(["-i", str(source), "-o", str(output), "--model-path", str(tmp_path / "model"), "--verbose"]) == 0
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("asm-evo-skill:") == 1
    assert "model model (cannot be used)" in printed.out
    assert output.read_bytes() == plain.read_bytes() != source.read_bytes()


@pytest.mark.skipif(find_spec("llama_cpp") is None, reason="needs the extra llm: llama_cpp not installed")
@pytest.mark.skipif(find_spec("gguf") is None, reason="needs the extra dev: gguf not installed")
def test_a_model_of_random_weights_is_asked_and_does_no_harm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output, plain = write(tmp_path / "kernel.s", EXAMPLE), tmp_path / "out.s", tmp_path / "plain.s"
    monkeypatch.setenv("ASMEVO_MODEL_CACHE", str(tmp_path / "answers"))
    assert run(["-i", str(source), "-o", str(plain)]) == 0
    capsys.readouterr()
    monkeypatch.setenv("ASMEVO_MODEL", str(write_tiny_model(tmp_path / "tiny.gguf")))
    assert run(["-i", str(source), "-o", str(output), "--verbose", "--prompt-template", "Task:\n{instruction}"]) == 0
    printed = capsys.readouterr()
    used = re.findall(r"proposer: deterministic \(.*\), model tiny.gguf; context (\d+) of 4096 tokens", printed.out)
    assert used and 500 < max(map(int, used)) < 4096
    assert output.read_bytes() == plain.read_bytes(), "nothing is left to improve"
    assert list((tmp_path / "answers").glob("*.json"))


def test_wrong_arguments_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = write(tmp_path / "kernel.s", EXAMPLE), tmp_path / "out.s"
    wrong: list[list[str]] = [
        ["--prompt-template", "improve this"],
        ["--model-path", "model.gguf", "--model-sha256", "1234"],
        ["--gpu", "gfx9999"],
        ["--constraints", str(tmp_path / "missing.json")],
    ]
    for arguments in wrong:
        assert run(["-i", str(source), "-o", str(output), *arguments]) == 2, arguments
        assert capsys.readouterr().err
        assert not output.exists()
    assert run(["-i", str(tmp_path / "missing.s"), "-o", str(output)]) == 2


def test_constraint_file_of_a_team_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team = {
        "schema": "asmevo-gate/constraints/1",
        "name": "team",
        "overrides": {"haz.dpp.valu_vgpr": {"enabled": False, "reason": "for the test"}},
    }
    body = (
        "  s_waitcnt vmcnt(0)\n  v_add_f32 v3, v1, v2\n"
        "  v_mov_b32_dpp v8, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    )
    source, output = write(tmp_path / "kernel.s", body), tmp_path / "out.s"
    assert run(["-i", str(source), "-o", str(output), "--debug-constraint"]) == 0
    rule = re.search(r"failed edge: ([\w.]+)", "\n".join(log(capsys)))
    assert rule is not None
    team["overrides"] = {rule[1]: {"enabled": False, "reason": "for the test"}}
    file = tmp_path / "team.json"
    file.write_text(json.dumps(team))
    assert run(["-i", str(source), "-o", str(output), "--debug-constraint", "--constraints", str(file)]) == 0
    assert rule[1] not in "\n".join(log(capsys))
