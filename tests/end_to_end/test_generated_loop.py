"""The example in ``examples/generated``: a generator, the gate as its critic, and kernels that get better."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOOP = Path(__file__).parents[2] / "examples" / "generated" / "loop.py"


def loop(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(LOOP), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def without_model() -> subprocess.CompletedProcess[str]:
    return loop()


def test_feedback_leads_to_a_kernel_that_passes(without_model: subprocess.CompletedProcess[str]) -> None:
    assert without_model.returncode == 0, without_model.stderr
    rounds = [line for line in without_model.stderr.splitlines() if line.startswith("round")]
    assert "fail" in rounds[0] and "pass, 0 findings" in rounds[-1] and len(rounds) > 2
    assert "wait.vmcnt.raw" in without_model.stderr and "kd.vgpr.under" in without_model.stderr
    assert without_model.stdout.count("s_waitcnt") == 2


def test_any_program_can_be_the_generator(tmp_path: Path, without_model: subprocess.CompletedProcess[str]) -> None:
    """One that answers in a code fence, as language models do, and needs the feedback to get it right."""
    program = tmp_path / "generator.py"
    good = without_model.stdout
    bad = good.replace("  s_waitcnt vmcnt(0)\n", "")
    program.write_text(
        "import sys\n"
        "asked = sys.stdin.read()\n"
        f"told = 'vmcnt must be at most 0' in asked and {bad!r} in asked\n"
        f"print('Here is a kernel:\\n```asm\\n' + ({good!r} if told else {bad!r}) + '```\\nDone.')\n"
    )
    done = loop("--command", f"{sys.executable} {program}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == good
    assert [line.split(",")[0] for line in done.stderr.splitlines() if line[0] == "r"] == [
        "round 1: fail",
        "round 2: pass",
    ]


def test_rounds_are_bounded(tmp_path: Path) -> None:
    program = tmp_path / "generator.py"
    program.write_text("print('.text\\nk:\\n  v_add_f32 v0, v1, v2\\n')\n")
    done = loop("--command", f"{sys.executable} {program}", "--rounds", "2")
    assert done.returncode == 1 and done.stdout == ""
    assert "round 2" in done.stderr and "round 3" not in done.stderr


def test_the_report_that_a_generator_reads() -> None:
    """What the example relies on: places, reasons and insertions as JSON on standard output."""
    text = ".text\nk:\n  s_load_dword s4, s[0:1], 0x0\n  v_mov_b32 v1, s4\n  s_endpgm\n"
    gate = [sys.executable, "-m", "asmevo_gate", "check", "-", "--gpu", "gfx942", "--format", "json"]
    done = subprocess.run(gate, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (found,) = [one for one in json.loads(done.stdout)["findings"] if one["rule"] == "wait.lgkmcnt.raw"]
    assert (found["line"], found["severity"], found["insertion"]) == (4, "error", "s_waitcnt lgkmcnt(0)")
