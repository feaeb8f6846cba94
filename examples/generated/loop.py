"""Generator, gate, feedback: a whole kernel is generated, the gate judges it, and what it finds goes back.

    python examples/generated/loop.py                        a generator without a model, which makes typical mistakes
    python examples/generated/loop.py --command 'my-model'   any program: the task on its input, a kernel on its output

The gate is asked as any generator would ask it: ``asmevo-gate check - --gpu gfx942 --format json``, kernel on standard
input, one JSON document on standard output. Exit code 0 when the kernel passes within the rounds, 1 when it does not.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

GPU = "gfx942"
TASK = f"""Write a kernel for {GPU} in AMDGPU assembly: out[i] = 2 * in[i] + 1, 32-bit floats, one wave of 64.
Kernel arguments: address of in (8 bytes), address of out (8 bytes). Answer with the assembly text only.
"""
Finding = dict[str, Any]
Generator = Callable[[str, list[Finding]], str]
"""The kernel so far ("" at first) and what the gate found in it -> the next kernel."""

SKETCH = """\
.text
.globl scale
.p2align 8
.type scale,@function
scale:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v0, 2, v0
  global_load_dword v8, v0, s[4:5]
  v_mov_b32 v9, 1.0
  v_fma_f32 v10, v8, 2.0, v9
  global_store_dword v0, v10, s[6:7]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel scale
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
"""
"""It forgets both waits, and asks for too few registers."""


def sketch(kernel: str, findings: list[Finding]) -> str:
    """A generator that needs no model: it starts with a sketch and does what the findings say."""
    if not kernel:
        return SKETCH
    lines = kernel.splitlines()
    for finding in sorted(findings, key=lambda one: -one["line"]):  # from below, so that line numbers stay right
        asked = re.search(r"set (\.amdhsa_\w+) to (?:at least )?(\d+)", finding["repair"])
        if finding["insertion"]:
            lines.insert(finding["line"] - 1, f"  {finding['insertion']}")
        elif asked:
            lines = [f"  {asked[1]} {asked[2]}" if line.split()[:1] == [asked[1]] else line for line in lines]
    return "\n".join(lines) + "\n"


def command(words: list[str]) -> Generator:
    """A program as a generator: a language model behind any interface that can be started."""

    def ask(kernel: str, findings: list[Finding]) -> str:
        parts = [TASK]
        if kernel:
            problems = "\n".join(f"line {one['line']}: {one['message']}. {one['repair']}" for one in findings)
            parts += [f"This answer did not pass:\n{kernel}", f"What is wrong with it:\n{problems}\n"]
        done = subprocess.run(words, input="\n".join(parts), capture_output=True, text=True, check=True, timeout=600)
        fenced = re.search(r"```\w*\n(.*?)```", done.stdout, re.DOTALL)
        return fenced[1] if fenced else done.stdout

    return ask


def check(kernel: str) -> dict[str, Any]:
    """The gate's report on a kernel."""
    gate = [sys.executable, "-m", "asmevo_gate", "check", "-", "--gpu", GPU, "--format", "json"]
    done = subprocess.run(gate, input=kernel, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"the gate could not do its work: {done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def main() -> int:
    """Run the loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", help="program that generates: the task on its input, the kernel on its output")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    generate: Generator = command(shlex.split(options.command)) if options.command else sketch
    kernel: str = ""
    findings: list[Finding] = []
    for number in range(1, options.rounds + 1):
        kernel = generate(kernel, findings)
        report = check(kernel)
        findings = [one for one in report["findings"] if one["severity"] != "info"]
        print(f"round {number}: {report['verdict']}, {len(findings)} findings", file=sys.stderr)
        for one in findings:
            print(f"  line {one['line']}: {one['rule']}: {one['message']}", file=sys.stderr)
        if report["verdict"] == "pass":
            print(kernel, end="")
            return 0
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
