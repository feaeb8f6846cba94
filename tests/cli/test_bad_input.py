"""Bad input: one clear message, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\nk:\n  s_endpgm\n'


def check(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "asmevo_gate", "check", *arguments]
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "expected"),
    [
        ("junk.s", bytes(range(256)) * 20, ["--gpu", "gfx942"], "junk.s"),
        ("latin.s", b"k:\n  s_endpgm ; \xe9\n", ["--gpu", "gfx942"], "UTF-8"),
        ("comment.s", b"k:\n s_endpgm\n/* never closed\n", ["--gpu", "gfx942"], "comment.s:3: unterminated comment"),
        ("gpu.s", GOOD.encode(), ["--gpu", "gfx9999"], "unknown GPU 'gfx9999'"),
        ("own.s", GOOD.replace("gfx942", "gfx7777").encode(), [], "own.s:1: unknown GPU 'gfx7777'"),
        ("none.s", b"k:\n  s_endpgm\n", [], "which GPU"),
        ("format.s", GOOD.encode(), ["--format", "prose"], "unknown report format"),
        ("rocm.s", GOOD.encode(), ["--rocm", "six"], "is not a ROCm version"),
        ("define.s", GOOD.encode(), ["-D", "N=abc"], "is no integer"),
        ("base.s", GOOD.encode(), ["--baseline", "absent.json"], "absent.json"),
    ],
)
def test_one_message_and_exit_code_2(
    tmp_path: Path, name: str, content: bytes, arguments: list[str], expected: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = check(tmp_path, name, "--output", "json=report.json", *arguments)
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert expected in said
    assert "Traceback" not in said
    assert not (tmp_path / "report.json").exists()


def test_a_missing_file_and_a_missing_repository(tmp_path: Path) -> None:
    missing = check(tmp_path, "missing.s")
    assert (missing.returncode, b"missing.s: no such file" in missing.stderr) == (2, True)
    outside = check(tmp_path)
    assert (outside.returncode, b"not in a git repository" in outside.stderr) == (2, True)


def test_a_file_of_100_megabytes_names_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "big.s").open("wb") as file:
        file.truncate(100_000_000)
    done = check(tmp_path, "big.s", "--gpu", "gfx942")
    assert (done.returncode, b"max_file_bytes" in done.stderr) == (2, True)


def test_standard_input_gives_json_for_a_generator(tmp_path: Path) -> None:
    done = check(
        tmp_path, "-", "--gpu", "gfx942", "--format", "json", "--no-assemble", stdin=b"k:\n  v_mov_b32 v0, 0\n"
    )
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(one["rule"], one["line"]) for one in report["findings"] if one["severity"] == "error"] == [
        ("cf.falls_off", 2)
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["rules"], ["check", "--no-cache", "good.s"], ["explain", "cf.falls_off"]])
def test_an_output_without_room_is_no_fault_of_the_gate(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "good.s").write_text(GOOD)
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "asmevo_gate", *arguments]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr == b"asmevo-gate: the output cannot be written: No space left on device\n"
