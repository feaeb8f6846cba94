"""How long a check takes, against LLVM's own assembler and disassembler in the same run.

Usage: python -m benchmarks.check_speed [--write]

1. A hook run on a commit without AMDGPU files, in seconds beyond Python's own start.
2. ``asmevo-gate check --no-cache`` of one kernel of 50,000 instructions, against ``llvm-mc -filetype=obj`` plus
   ``llvm-objdump -d`` of the same file, each as a whole process; median of the runs, which take turns. ``ratio`` is of
   wall time: the assembler that a check runs works beside it where a second core is free. ``cpu_ratio`` counts the CPU
   time of all processes, that assembler included. Peak memory is the sum over all processes of a check (PSS).
3. The same for kernels that clang -O3 makes of ``benchmarks/data/unrolled.c``: over 60,000 instructions, of which a
   third have a text of their own. They show how far the generated kernel, which repeats itself, speaks for others.
4. The same from 1,000 to 100,000 instructions: seconds for each 1,000 instructions must stay level. ``analysis_cpu``
   are the CPU seconds of all rules, with the counters and other analyses that they ask for, on the program once it is
   read, in a fresh process; median of the runs.

``--write`` puts the figures in ``benchmarks/results/check_speed.json`` and draws ``docs/images/check_speed.svg``.
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.speed_plot import curves, growth, write

ROOT = Path(__file__).resolve().parent.parent
GPU = "gfx942"
COMPILED = (("gfx942", 1_300), ("gfx1100", 1_740), ("gfx1200", 1_740))
"""GPUs of the compiled kernel, and how often its loop body is unrolled."""
SIZES = (1_000, 3_000, 10_000, 30_000, 50_000, 100_000)
RUNS = 3


def kernel(count: int, seed: int = 1) -> str:
    """A kernel of about ``count`` instructions: loads, waits, arithmetic, LDS, MFMA and branches, without a fault."""
    rng = random.Random(seed)
    lines = [f'.amdgcn_target "amdgcn-amd-amdhsa--{GPU}"', ".text", "k:", "  s_load_dwordx4 s[4:7], s[0:1], 0x0"]
    lines += ["  s_waitcnt lgkmcnt(0)"] + [f"  v_mov_b32 v{n}, 0" for n in range(64)]
    block = 0
    while len(lines) < count:
        block += 1
        lines.append(f".L{block}:")
        first = rng.randrange(8, 40)
        lines += [f"  global_load_dword v{first + n}, v0, s[4:5] offset:{4 * rng.randrange(512)}" for n in range(4)]
        for _ in range(24):
            a, b, c = (rng.randrange(1, 8) for _ in range(3))
            form = rng.choice(("v_add_f32 v{}, v{}, v{}", "v_mul_f32 v{}, v{}, v{}", "v_fma_f32 v{}, v{}, v{}, v1"))
            lines.append("  " + form.format(a, b, c))
        lines += ["  s_waitcnt vmcnt(2)", f"  v_add_f32 v2, v{first}, v{first + 1}", "  s_waitcnt vmcnt(0)"]
        lines += [f"  ds_write_b32 v0, v{first + 2} offset:{4 * rng.randrange(256)}", "  s_waitcnt lgkmcnt(0)"]
        lines += ["  s_nop 1", "  v_mfma_f32_16x16x16_f16 v[48:51], v[4:5], v[6:7], v[48:51]", "  s_sub_u32 s8, s8, 1"]
        lines += ["  s_cmp_lg_u32 s8, 0", f"  s_cbranch_scc1 .L{max(1, block - rng.randrange(3))}", "  s_nop 7"]
    lines += ["  s_endpgm", ".rodata", ".amdhsa_kernel k", "  .amdhsa_next_free_vgpr 64", "  .amdhsa_next_free_sgpr 16"]
    lines += ["  .amdhsa_user_sgpr_kernarg_segment_ptr 1", "  .amdhsa_accum_offset 64"]
    return "\n".join([*lines, "  .amdhsa_group_segment_fixed_size 4096", ".end_amdhsa_kernel", ""])


class Spent(NamedTuple):
    """What a whole process took: seconds on the wall, and CPU seconds with those of its children."""

    wall: float
    cpu: float


def spent(command: list[str], cwd: Path | None = None, allowed: tuple[int, ...] = (0,)) -> Spent:
    """Run a process once."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode()}{done.stdout.decode()[-2000:]}")
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_turn(commands: list[list[str]], cwd: Path | None = None) -> list[Spent]:
    """The median of each command over the runs; the commands take turns, so that a busy machine slows all alike."""
    rounds = [[spent(command, cwd) for command in commands] for _ in range(RUNS)]
    return [
        Spent(statistics.median(run.wall for run in runs), statistics.median(run.cpu for run in runs))
        for runs in zip(*rounds, strict=True)
    ]


def analysis_cpu(source: Path, gpu: str) -> float:
    """CPU seconds of all rules, with the analyses that they ask for, on a program once it is read; in this process."""
    from asmevo_gate.cli.main import collect_garbage_seldom
    from asmevo_gate.gate.file_check import check_program, parsed_program
    from asmevo_gate.isa.targets import find_target
    from asmevo_gate.rules.registry import all_rules
    from asmevo_gate.source.options import SourceOptions
    from asmevo_gate.source.symbols import predefined_symbols

    collect_garbage_seldom()  # as the command does
    all_rules()
    options = SourceOptions(predefined=predefined_symbols(gpu))
    program = parsed_program(source.name, source.read_text(), find_target(gpu), options)
    start = time.process_time()
    check_program(program)
    return time.process_time() - start


def hook_start(folder: Path) -> dict[str, float]:
    """A commit that touches no assembly, against Python's own start."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "notes.txt").write_text("no kernel here\n")
    subprocess.run(["git", "-C", str(folder), "add", "notes.txt"], check=True)
    bare, hook = (
        one.wall
        for one in in_turn([[sys.executable, "-c", "pass"], [sys.executable, "-m", "asmevo_gate", "check"]], folder)
    )
    return {"python": round(bare, 3), "hook": round(hook, 3), "beyond_python": round(hook - bare, 3)}


def compiled(gpu: str, bodies: int) -> str:
    """What clang makes of the unrolled loop."""
    source = ROOT / "benchmarks" / "data" / "unrolled.c"
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib"]
    command = ["clang-22", *target, "-O3", f"-DBODIES={bodies}", "-S", str(source), "-o", "-"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def instructions_in(text: str) -> int:
    """Lines of instructions in what a compiler wrote."""
    return sum(1 for line in text.splitlines() if line.startswith("\t") and line[1:2].isalpha())


def check_against_llvm(folder: Path, text: str, gpu: str, count: int) -> dict[str, Any]:
    """One kernel: our whole check, LLVM's two tools, and the ratio."""
    source, output = folder / "kernel.s", folder / "kernel.o"
    source.write_text(text)
    target = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}"]
    ours = [sys.executable, "-m", "asmevo_gate", "check", "--no-cache", str(source)]
    check, assemble, disassemble = in_turn(
        [
            ours,
            ["llvm-mc-22", *target, "-filetype=obj", str(source), "-o", str(output)],
            ["llvm-objdump-22", "-d", str(output)],
        ],
        folder,
    )
    analysis = [sys.executable, "-m", "benchmarks.check_speed", "--analysis", str(source), gpu]
    rules = [float(subprocess.run(analysis, cwd=ROOT, capture_output=True, check=True).stdout) for _ in range(RUNS)]
    peer = Spent(assemble.wall + disassemble.wall, assemble.cpu + disassemble.cpu)
    return {
        "gpu": gpu, "instructions": count, "check": round(check.wall, 3), "llvm_mc": round(assemble.wall, 3),
        "llvm_objdump": round(disassemble.wall, 3), "ratio": round(check.wall / peer.wall, 2),
        "check_cpu": round(check.cpu, 3), "llvm_cpu": round(peer.cpu, 3), "cpu_ratio": round(check.cpu / peer.cpu, 2),
        "analysis_cpu": round(statistics.median(rules), 3),
        "milliseconds_per_1000": round(1000 * check.wall / (count / 1000), 2),
        "peak_memory_mib": peak_memory(ours, folder),
    }  # fmt: skip


def peak_memory(command: list[str], cwd: Path) -> int:
    """The most memory that a process and those that it started held together, in MiB, every 20 ms of a run."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, _held(process.pid))
        time.sleep(0.02)
    return most >> 10


def _held(process: int) -> int:
    """KiB of a process and those below it, pages that several share counted once; 0 for one that has ended."""
    try:
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    own = next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return own + sum(_held(int(child)) for child in below)


def main() -> int:
    """Measure and print; write the figures on request."""
    if sys.argv[1:2] == ["--analysis"]:
        print(analysis_cpu(Path(sys.argv[2]), sys.argv[3]))
        return 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        figures: dict[str, Any] = {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "hook_without_amdgpu_files_seconds": hook_start(folder / "repository"),
            "check": [check_against_llvm(folder, kernel(count), GPU, count) for count in SIZES],
            "compiled": [
                check_against_llvm(folder, text, gpu, instructions_in(text))
                for gpu, text in ((gpu, compiled(gpu, bodies)) for gpu, bodies in COMPILED)
            ],
        }
    figures["growth_exponents"] = {curve.name: round(growth(curve.points), 3) for curve in curves(figures["check"])}
    text = json.dumps(figures, indent=2)
    print(text)
    if "--write" in sys.argv[1:]:
        results = ROOT / "benchmarks" / "results"
        results.mkdir(exist_ok=True)
        (results / "check_speed.json").write_text(text + "\n")
        write(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
