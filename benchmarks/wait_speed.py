"""CPU time of the counter analysis and of all wait findings on kernels of 1,000 to 100,000 instructions.

    python -m benchmarks.wait_speed

Writes ``benchmarks/results/wait_speed.json``.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_slack import too_strong_waits
from asmevo_gate.analysis.pending_violations import wait_violations
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

RESULT = Path(__file__).parent / "results" / "wait_speed.json"
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
REPEATS = 3


def gemm_like(length: int, seed: int = 0) -> Function:
    """A kernel of loops that prefetch, read LDS, multiply and wait, as tuned matrix kernels do."""
    rng = random.Random(seed)
    lines: list[str] = []
    loop = 0
    while len(lines) < length:
        lines.append(f".L{loop}:")
        tile = [100 + 4 * n for n in range(8)]
        lines += [f"buffer_load_dwordx4 v[{v}:{v + 3}], v1, s[8:11], 0 offen offset:{16 * (v - 100)}" for v in tile]
        lines += [f"ds_read_b128 v[{v + 40}:{v + 43}], v1 offset:{16 * (v - 100)}" for v in tile]
        for n in range(8):
            lines.append(f"s_waitcnt lgkmcnt({7 - n})")
            first = 140 + 4 * n
            for _ in range(6):
                a, b = rng.randrange(4), rng.randrange(4)
                lines.append(
                    f"v_mfma_f32_4x4x1f32 a[{4 * n}:{4 * n + 3}], v{first + a}, v{first + b}, a[{4 * n}:{4 * n + 3}]"
                )
                lines.append(f"v_add_f32 v{rng.randrange(2, 90)}, v{rng.randrange(90)}, v{rng.randrange(90)}")
        for n in range(8):
            lines.append(f"s_waitcnt vmcnt({7 - n})")
            lines.append(f"ds_write_b128 v2, v[{tile[n]}:{tile[n] + 3}] offset:{16 * n}")
        lines += ["s_waitcnt lgkmcnt(0)", "s_barrier", "s_sub_u32 s20, s20, 1", f"s_cbranch_scc0 .L{loop}"]
        loop += 1
    text = ".text\nk:\n" + "\n".join(lines) + "\ns_endpgm\n"
    text += ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 256\n.amdhsa_next_free_sgpr 32\n"
    text += ".amdhsa_accum_offset 256\n.end_amdhsa_kernel\n"
    (function,) = build_program(parse_source("k.s", text), find_target("gfx90a")).functions
    return function


def main() -> None:
    """Measure, print and write."""
    rows = []
    for size in SIZES:
        function = gemm_like(size)
        analysis, everything = [], []
        for _ in range(REPEATS):
            started = time.process_time()
            memory = pending_memory(function)
            races = memory.races
            analysis.append(time.process_time() - started)
            wait_violations(memory)
            too_strong_waits(memory)
            everything.append(time.process_time() - started)
        rows.append(
            {
                "instructions": len(function.instructions),
                "analysis_cpu_seconds": round(min(analysis), 4),
                "with_advice_cpu_seconds": round(min(everything), 4),
                "analysis_us_per_instruction": round(min(analysis) / len(function.instructions) * 1e6, 3),
                "races": len(races),
            }
        )
        print(rows[-1], flush=True)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(
        json.dumps({"command": "python -m benchmarks.wait_speed", "rows": rows}, indent=1) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
