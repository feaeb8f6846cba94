"""A library of kernels: throughput, one process against two, and a run with a warm cache.

Usage: python benchmarks/scale.py [--kernels 5000] [--instructions 400] [--write]

Generates variants of a kernel (another order of operations, other registers and offsets; one in 100 lacks a wait),
and checks them as ``asmevo-gate check`` does, each run as a whole process:

1. one process, no cache: instructions a second and core;
2. two processes, no cache: how much faster;
3. two processes that fill an empty cache, and the same run again: the second must take less than 2 % of the first;
4. the reports of all runs must be the same, byte for byte.

The defaults are 5,000 kernels with 2 million instructions. ``--write`` puts the figures in
``benchmarks/results/scale.json``. The load of the machine is recorded with them, as other work on it distorts times;
CPU seconds (of the process and its children) are distorted less.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
GPUS = ("gfx90a", "gfx942", "gfx1030", "gfx1100")
_ARITHMETIC = (
    "v_add_f32 v{}, v{}, v{}",
    "v_mul_f32 v{}, v{}, v{}",
    "v_fma_f32 v{}, v{}, v{}, v1",
    "v_max_f32 v{}, v{}, v{}",
)


class Run(NamedTuple):
    """One run of the gate: wall and CPU seconds, the exit code, and the digest of its report."""

    wall: float
    cpu: float
    code: int
    digest: str


def variant(name: str, gpu: str, instructions: int, seed: int, faulty: bool) -> str:
    """A kernel of about so many instructions; a faulty one reads loaded data without a wait."""
    rng = random.Random(seed)
    lines = [f'.amdgcn_target "amdgcn-amd-amdhsa--{gpu}"', ".text", ".p2align 8", f"{name}:"]
    body = ["  s_load_dwordx4 s[4:7], s[0:1], 0x0", "  s_waitcnt lgkmcnt(0)"]
    body += [f"  v_mov_b32 v{number}, {rng.randrange(64)}" for number in range(1, 40)]
    block = 0
    while len(body) < instructions - 2:
        block += 1
        first = rng.randrange(8, 32)
        body += [f"  global_load_dword v{first + n}, v0, s[4:5] offset:{4 * rng.randrange(500)}" for n in range(4)]
        for _ in range(rng.randrange(12, 28)):
            registers = (rng.randrange(1, 8) for _ in range(3))
            body.append("  " + rng.choice(_ARITHMETIC).format(*registers))
        if not (faulty and block == 2):
            body.append("  s_waitcnt vmcnt(0)")
        body.append(f"  v_add_f32 v2, v{first}, v{first + 3}")
    lines += [*body, "  global_store_dword v0, v2, s[6:7]", "  s_endpgm", ".rodata", f".amdhsa_kernel {name}"]
    lines += ["  .amdhsa_next_free_vgpr 40", "  .amdhsa_next_free_sgpr 16"]
    lines += ["  .amdhsa_accum_offset 40"] if gpu in ("gfx90a", "gfx942") else []
    lines += ["  .amdhsa_wavefront_size32 0"] if gpu.startswith("gfx1") else []
    return "\n".join([*lines, "  .amdhsa_user_sgpr_kernarg_segment_ptr 1", ".end_amdhsa_kernel", ""])


def write_library(folder: Path, kernels: int, instructions: int) -> None:
    """The kernels, 500 in a directory."""
    for number in range(kernels):
        name = f"kernel_{number:05}"
        place = folder / f"part_{number // 500:02}" / f"{name}.s"
        place.parent.mkdir(exist_ok=True)
        gpu = GPUS[number % len(GPUS)]
        place.write_text(variant(name, gpu, instructions, number, faulty=number % 100 == 99))


def check(folder: Path, report: Path, cache: Path, *options: str) -> Run:
    """One run as a whole process."""
    command = [
        sys.executable,
        "-m",
        "asmevo_gate",
        "check",
        ".",
        "--no-assemble",
        "--output",
        f"json={report}",
        *options,
    ]
    environment = {**os.environ, "ASMEVO_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed gate has its bytecode
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode()[-2000:]}")
    content = json.loads(report.read_text())
    content.pop("command")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return Run(wall, cpu, done.returncode, digest)


def measure(folder: Path, kernels: int, instructions: int) -> dict[str, object]:
    """All runs and their figures."""
    library = folder / "library"
    library.mkdir()
    write_library(library, kernels, instructions)
    load = os.getloadavg()
    report = folder / "report.json"
    one = check(library, report, folder / "none", "--no-cache", "--jobs", "1")
    total = json.loads(report.read_text())["coverage"]["instructions"]
    two = check(library, report, folder / "none", "--no-cache", "--jobs", "2")
    cold = check(library, report, folder / "cache", "--jobs", "2")
    warm = check(library, report, folder / "cache", "--jobs", "2")
    findings = json.loads(report.read_text())["findings"]
    runs = {"one_process": one, "two_processes": two, "cold_cache": cold, "warm_cache": warm}
    size = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file())
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load_average_before_and_after": [round(load[0], 1), round(os.getloadavg()[0], 1)],
        "kernels": kernels,
        "instructions": total,
        "seconds": {name: {"wall": round(run.wall, 2), "cpu": round(run.cpu, 2)} for name, run in runs.items()},
        "instructions_per_cpu_second": round(total / one.cpu),
        "speedup_of_two_processes": round(one.wall / two.wall, 2),
        "cpu_of_two_processes_to_one": round(two.cpu / one.cpu, 2),
        "warm_to_cold_wall": round(warm.wall / cold.wall, 4),
        "warm_to_cold_cpu": round(warm.cpu / cold.cpu, 4),
        "cache_bytes_per_kernel": round(size / kernels),
        "same_report": len({run.digest for run in runs.values()}) == 1,
        "kernels_without_a_wait_found": sum(one["rule"] == "wait.vmcnt.raw" for one in findings),
        "kernels_without_a_wait": kernels // 100,
    }


def main() -> int:
    """Measure and print; write the figures on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=5_000)
    parser.add_argument("--instructions", type=int, default=400, help="instructions a kernel")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        figures = measure(Path(name), options.kernels, options.instructions)
    text = json.dumps(figures, indent=2)
    print(text)
    if options.write:
        results = ROOT / "benchmarks" / "results"
        results.mkdir(exist_ok=True)
        (results / "scale.json").write_text(text + "\n")
    return 0 if figures["same_report"] else 1


if __name__ == "__main__":
    sys.exit(main())
