"""How long a check takes, against LLVM's own assembler and disassembler in the same run.

Usage: python benchmarks/check_speed.py [--write]

1. A hook run on a commit without AMDGPU files, in seconds beyond Python's own start.
2. ``asmevo-gate check --no-cache`` of one kernel of 50,000 instructions, against ``llvm-mc -filetype=obj`` plus
   ``llvm-objdump -d`` of the same file, each as a whole process; median of the runs. Peak memory of the check.
3. The same from 1,000 to 100,000 instructions: seconds for each 1,000 instructions must stay level.

``--write`` puts the figures in ``benchmarks/results/check_speed.json``.
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

ROOT = Path(__file__).resolve().parent.parent
GPU = "gfx942"
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


def seconds(command: list[str], cwd: Path | None = None, allowed: tuple[int, ...] = (0,)) -> float:
    """Median wall time of a whole process."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
        if done.returncode not in allowed:
            sys.exit(
                f"{' '.join(command)} gave {done.returncode}: {done.stderr.decode()}{done.stdout.decode()[-2000:]}"
            )
    return statistics.median(times)


def hook_start(folder: Path) -> dict[str, float]:
    """A commit that touches no assembly, against Python's own start."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "notes.txt").write_text("no kernel here\n")
    subprocess.run(["git", "-C", str(folder), "add", "notes.txt"], check=True)
    bare = seconds([sys.executable, "-c", "pass"])
    hook = seconds([sys.executable, "-m", "asmevo_gate", "check"], cwd=folder)
    return {"python": round(bare, 3), "hook": round(hook, 3), "beyond_python": round(hook - bare, 3)}


def check_against_llvm(folder: Path, count: int) -> dict[str, float]:
    """One size: our whole check, LLVM's two tools, and the ratio."""
    source, output = folder / f"k{count}.s", folder / f"k{count}.o"
    source.write_text(kernel(count))
    command = [sys.executable, "-m", "asmevo_gate", "check", "--no-cache", str(source)]
    check = seconds(command, cwd=folder)
    target = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={GPU}"]
    assemble = seconds(["llvm-mc-22", *target, "-filetype=obj", str(source), "-o", str(output)])
    disassemble = seconds(["llvm-objdump-22", "-d", str(output)])
    peer = assemble + disassemble
    return {
        "instructions": count, "check": round(check, 3), "llvm_mc": round(assemble, 3),
        "llvm_objdump": round(disassemble, 3), "ratio": round(check / peer, 2),
        "milliseconds_per_1000": round(1000 * check / (count / 1000), 2),
    }  # fmt: skip


def main() -> int:
    """Measure and print; write the figures on request."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "hook_without_amdgpu_files_seconds": hook_start(folder / "repository"),
            "check": [check_against_llvm(folder, count) for count in SIZES],
            "peak_memory_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        }
    text = json.dumps(figures, indent=2)
    print(text)
    if "--write" in sys.argv[1:]:
        results = ROOT / "benchmarks" / "results"
        results.mkdir(exist_ok=True)
        (results / "check_speed.json").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
