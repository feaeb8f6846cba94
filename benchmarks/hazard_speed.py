"""Speed of the two constraint engines on the same kernel in the same run; writes ``results/hazard_speed.json``.

    python -m benchmarks.hazard_speed [--instructions N] [--repeat N]

The kernel is a loop nest of the mix that matrix kernels have (MFMA, LDS, loads, VALU, scalar) for gfx942, repeated
with shifting registers until it is long enough. The reference engine runs in its naive form: edge by edge, each
consumer walked back over all paths. Imports and parsing are not counted; everything from the program on is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asmevo_gate.constraints import onnx_engine, reference
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

RESULT = Path(__file__).parent / "results" / "hazard_speed.json"
GPU = "gfx942"


def kernel_text(instructions: int) -> str:
    """A kernel of about so many instructions: rounds of a software-pipelined matrix loop, 24 register patterns."""
    lines = ["k:", "s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)"]
    count = 0
    while len(lines) < instructions:
        shift = count % 24
        a, b, acc = 64 + 4 * (shift % 8), 96 + 4 * (shift % 6), 16 * (shift % 4)
        lines += [
            *([f".Lround{count}:"] if shift == 0 else []),
            f"ds_read_b128 v[{a}:{a + 3}], v130 offset:{16 * shift}",
            f"ds_read_b128 v[{b}:{b + 3}], v131 offset:{16 * shift}",
            f"global_load_dwordx4 v[{140 + 4 * (shift % 4)}:{143 + 4 * (shift % 4)}], v132, s[4:5] offset:{16 * shift}",
            "s_waitcnt lgkmcnt(0)",
        ]
        for step in range(8):
            d = acc if step % 2 else (acc + 16) % 64
            pair, factor = 232 + 2 * (step % 4), 240 + 2 * (shift % 4)
            lines += [
                f"v_mfma_f32_32x32x8_f16 a[{d}:{d + 15}], v[{a}:{a + 1}], v[{b}:{b + 1}], a[{d}:{d + 15}]",
                f"v_add_u32_e32 v{160 + (step + shift) % 16}, v{176 + step}, v{184 + shift % 8}",
                f"v_fma_f32 v{200 + step}, v{201 + step}, v{202 + shift % 8}, v{200 + step}",
                f"s_add_u32 s{20 + step}, s{28 + shift % 8}, s{40 + step}",
                f"v_lshlrev_b32_e32 v{216 + step}, 2, v{224 + shift % 8}",
                f"v_pk_mul_f32 v[{pair}:{pair + 1}], v[{factor}:{factor + 1}], v[240:241]",
            ]
        lines += [
            f"v_cmp_lt_u32_e64 s[{60 + 2 * (shift % 4)}:{61 + 2 * (shift % 4)}], v132, v133",
            "s_nop 3",
            f"v_exp_f32_e32 v{134 + shift % 3}, v{137 + shift % 2}",
            f"ds_write_b128 v130, v[{140 + 4 * (shift % 4)}:{143 + 4 * (shift % 4)}] offset:{16 * shift}",
            "s_barrier",
            *([f"s_cbranch_scc1 .Lround{count - 23}"] if shift == 23 else []),
        ]
        count += 1
    return "\n".join([*lines, "s_endpgm", ""])


def measure(function: Function, run: Callable[[Function], object], repeat: int) -> dict[str, float]:
    """Times in milliseconds: median and least time on the wall, median processor time (both engines use one thread;
    on a busy machine the wall shows the others as well)."""
    wall, processor = [], []
    for _ in range(repeat):
        started, used = time.perf_counter(), time.process_time()
        run(function)
        wall.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - used) * 1000)
    return {
        "median": round(statistics.median(wall), 2),
        "least": round(min(wall), 2),
        "processor": round(statistics.median(processor), 2),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instructions", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    target = find_target(GPU)
    graph = graph_for(target)
    (large,) = build_program(parse_source("large.s", kernel_text(options.instructions)), target).functions
    (small,) = build_program(parse_source("small.s", kernel_text(200)), target).functions
    started = time.perf_counter()
    session = onnx_engine.compiled(graph)
    session_ms = round((time.perf_counter() - started) * 1000, 2)
    first = [one.key for one in onnx_engine.violations(large, graph)]
    second = [one.key for one in reference.violations(large, graph)]
    result: dict[str, Any] = {
        "command": "python -m benchmarks.hazard_speed",
        "python": platform.python_version(),
        "gpu": GPU,
        "edges": len(graph.edges),
        "edges_in_model": len(session.edges),
        "instructions": len(large.instructions),
        "distinct_instructions": len({id(one.decoded) for one in large.instructions}),
        "blocks": len(large.blocks),
        "violations": len(first),
        "engines_agree": first == second,
        "onnx_session_ms": session_ms,
        "onnx_ms": measure(large, lambda function: onnx_engine.violations(function, graph), options.repeat),
        "reference_ms": measure(
            large, lambda function: reference.violations(function, graph), max(1, options.repeat // 3)
        ),
        "small_instructions": len(small.instructions),
        "small_onnx_ms": measure(small, lambda function: onnx_engine.violations(function, graph), options.repeat),
        "small_reference_ms": measure(small, lambda function: reference.violations(function, graph), options.repeat),
    }
    for kind in ("median", "processor"):
        result[f"times_faster_{kind}"] = round(result["reference_ms"][kind] / result["onnx_ms"][kind], 1)
    result["load"] = [round(one, 1) for one in os.getloadavg()]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
