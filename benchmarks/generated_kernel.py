"""How fast the gate answers a generator: ``asmevo-gate check - --gpu gfx942 --format json`` on whole kernels.

Usage: python -m benchmarks.generated_kernel [--runs 7] [--write]

Processor time (user and system, with the assembler that the gate starts) of the whole process; the least of the runs.
``start`` is what the smallest kernel of one instruction costs: Python, the gate's modules and data, the assembler.
``python`` is the interpreter alone. Nothing comes from the cache of results. Kernels are those of ``bench-model`` for
gfx942, as clang compiled them. ``--write`` puts the figures in ``benchmarks/results/generated_kernel.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

from asmevo_gate.gate.region_set import shipped_kernels

GPU = "gfx942"
RESULT = Path(__file__).parent / "results" / "generated_kernel.json"
CHECK = [sys.executable, "-m", "asmevo_gate", "check", "-", "--gpu", GPU, "--format", "json", "--no-cache"]
SMALLEST = ".text\nk:\n  s_endpgm\n"
LIMIT_SECONDS = 0.3


def seconds(command: list[str], given: str, runs: int) -> tuple[float, dict[str, object]]:
    """Least processor time of some runs, and what the last one printed."""
    times, printed = [], ""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(runs + 1):  # the first one writes Python's bytecode
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode > 1:
            raise SystemExit(done.stderr)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        printed = done.stdout
    return min(times[1:]), json.loads(printed) if printed else {}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    python, _ = seconds([sys.executable, "-c", "pass"], "", options.runs)
    start, _ = seconds(CHECK, SMALLEST, options.runs)
    rows = []
    for kernel in shipped_kernels():
        if kernel.name.endswith(GPU):
            total, report = seconds(CHECK, kernel.text, options.runs)
            coverage = report["coverage"]
            assert isinstance(coverage, dict)
            rows.append(
                {
                    "kernel": kernel.name,
                    "instructions": coverage["instructions"],
                    "seconds": round(total, 3),
                    "beyond_python": round(total - python, 3),
                    "beyond_start": round(total - start, 3),
                }
            )
            print(rows[-1], flush=True)
    document = {
        "schema": "asmevo-gate/generated_kernel/1",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "limit_seconds": LIMIT_SECONDS,
        "python": round(python, 3),
        "start": round(start, 3),
        "kernels": rows,
        "most_beyond_start": max(row["beyond_start"] for row in rows),
        "most_beyond_python": max(row["beyond_python"] for row in rows),
    }
    print(json.dumps({name: value for name, value in document.items() if name != "kernels"}, indent=1))
    if options.write:
        RESULT.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
