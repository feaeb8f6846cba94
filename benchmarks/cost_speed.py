"""How long the cost model takes beside llvm-mca, on loop bodies of 5,000 instructions.

    python -m benchmarks.cost_speed            writes benchmarks/results/cost_speed.json and .md

llvm-mca runs with -iterations=10, as a process (its start is taken off: the same process on a body of one
instruction). The model's time is that of the Python call, without the start of the interpreter: once for decoded
instructions, as in a check that has decoded them anyway, and once from the text in a process of its own that has met
one instruction before, as llvm-mca's start has. Times are CPU times, the best of several runs that alternate in one
run of this program.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asmevo_gate.cost.block import BlockCost, block_cost
from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.cost.interval import in_words
from asmevo_gate.cost.timing import timing_for
from asmevo_gate.isa.decoder import Isa
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import find_target

HERE = Path(__file__).resolve().parent
INSTRUCTIONS = 5000
RUNS = 7
_FROM_TEXT = "--from-text"


def matrix_loop(count: int) -> list[str]:
    """An unrolled matrix multiplication of CDNA3: MFMA, LDS reads and writes, loads, address arithmetic, waits."""
    body: list[str] = []
    step = 0
    while len(body) < count - 3:
        a, b, c = 2 * (step % 32), 64 + 2 * (step * 3 % 32), 16 * (step % 8)
        d = 128 + 4 * (step % 16)
        body += [
            f"v_mfma_f32_32x32x8_f16 a[{c}:{c + 15}], v[{a}:{a + 1}], v[{b}:{b + 1}], a[{c}:{c + 15}]",
            f"ds_read_b128 v[{d}:{d + 3}], v{192 + step % 8} offset:{16 * step % 65520}",
            f"v_add_u32_e32 v{200 + step % 20}, v{200 + step * 7 % 20}, v{220 + step % 30}",
            f"v_lshl_add_u32 v{200 + step * 3 % 20}, v{220 + step % 30}, 2, v{200 + step % 20}",
            f"s_add_u32 s{8 + step % 40}, s{8 + step * 3 % 40}, {step % 60}",
        ]
        if step % 4 == 0:
            body.append(f"s_waitcnt lgkmcnt({step % 3})")
        if step % 8 == 0:
            first = 2 * (step % 30)
            body.append(
                f"global_load_dwordx4 v[{first}:{first + 3}], v[{250 + step % 2 * 2}:{251 + step % 2 * 2}], off"
            )
            body.append(f"ds_write_b64 v{192 + step % 8}, v[{first}:{first + 1}] offset:{8 * step % 65528}")
        if step % 64 == 63:
            body += ["s_waitcnt vmcnt(0)", "s_barrier"]
        step += 1
    return [*body[: count - 3], "s_add_u32 s60, s60, 1", "s_cmp_lt_u32 s60, s61", "s_cbranch_scc1 loop"]


def vector_loop(count: int) -> list[str]:
    """An unrolled FP32 matrix multiplication with activations of RDNA3: VOPD, LDS, transcendentals, delays."""
    body: list[str] = []
    step = 0
    while len(body) < count - 3:
        x, y = 2 * (step % 48), 2 * (step * 5 % 48) + 1
        p, q = 100 + 4 * (step % 12), 150 + 4 * (step * 7 % 12)
        body += [
            f"v_dual_fmac_f32 v{x}, v{p}, v{q + 1} :: v_dual_fmac_f32 v{y}, v{p + 1}, v{q + 2}",
            f"v_dual_fmac_f32 v{(x + 8) % 96}, v{p + 2}, v{q + 3} :: v_dual_fmac_f32 v{(y + 8) % 96}, v{p + 3}, v{q}",
            f"v_fma_f32 v{x}, v{p}, v{q}, v{x}",
            f"s_add_u32 s{8 + step % 40}, s{8 + step * 3 % 40}, {step % 60}",
        ]
        if step % 4 == 0:
            first = 100 + 4 * (step // 4 % 12)
            body.append(f"ds_load_b128 v[{first}:{first + 3}], v{210 + step % 8} offset:{16 * step % 65520}")
        if step % 8 == 7:
            body += [f"s_waitcnt lgkmcnt({step % 3})", "s_delay_alu instid0(VALU_DEP_1)"]
            body.append(f"v_exp_f32_e32 v{220 + step % 8}, v{x}")
        if step % 32 == 31:
            body.append(f"global_load_b128 v[{230 + step % 4}:{233 + step % 4}], v[240:241], off")
            body.append("s_waitcnt vmcnt(0)")
        step += 1
    return [*body[: count - 3], "s_add_u32 s60, s60, 1", "s_cmp_lt_u32 s60, s61", "s_cbranch_scc1 loop"]


BODIES: dict[str, tuple[str, Callable[[int], list[str]]]] = {
    "matrix multiplication, gfx942": ("gfx942", matrix_loop),
    "vector arithmetic, gfx1100": ("gfx1100", vector_loop),
}


def mca_seconds(target: str, body: list[str]) -> float:
    """CPU time of one llvm-mca process."""
    tool = shutil.which("llvm-mca-22") or shutil.which("llvm-mca")
    if tool is None:
        raise SystemExit("llvm-mca-22 is not installed; this benchmark compares with it")
    text = "loop:\n" + "\n".join(body) + "\n"
    command = [tool, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-iterations=10"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if run.returncode or "Total Cycles" not in run.stdout:
        raise SystemExit(f"llvm-mca refuses the body: {run.stderr[:300]}")
    return taken


def from_text_seconds(name: str) -> float:
    """CPU time from the text to cycles and words, in a process that remembers nothing."""
    command = [sys.executable, "-m", "benchmarks.cost_speed", _FROM_TEXT, name]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, cwd=HERE.parent)
    return float(run.stdout)


def time_from_text(name: str) -> float:
    """The same in this process, which must be a fresh one."""
    target, make = BODIES[name]
    body = make(INSTRUCTIONS)
    cost(target, decode(target, body[:1]))
    timing_for.cache_clear()
    start = time.process_time()
    cost(target, decode(target, body))
    return time.process_time() - start


def decode(target: str, body: list[str]) -> list[Decoded]:
    """Every instruction, decoded with nothing remembered from before."""
    isa = Isa(find_target(target), load_fingerprint(target).wave_sizes[0])
    decoded = [isa.decode(text) for text in body]
    unknown = [one.text for one in decoded if not isinstance(one, Decoded)]
    if unknown:
        raise SystemExit(f"{target}: {unknown[0]}: no meaning")
    return [one for one in decoded if isinstance(one, Decoded)]


def cost(target: str, decoded: list[Decoded]) -> tuple[BlockCost, str]:
    """The cost at four waves a SIMD, in figures and in words."""
    found = block_cost(decoded, load_fingerprint(target), 4, loop=True)
    return found, found.limited_by


def measure(name: str) -> dict[str, Any]:
    """Best times of one body."""
    target, make = BODIES[name]
    body = make(INSTRUCTIONS)
    assert len(body) == INSTRUCTIONS
    decoded = decode(target, body)
    best = {"mca": float("inf"), "mca_start": float("inf"), "model": float("inf"), "from_text": float("inf")}
    for _ in range(RUNS):
        best["mca"] = min(best["mca"], mca_seconds(target, body))
        best["mca_start"] = min(best["mca_start"], mca_seconds(target, body[:1]))
        best["from_text"] = min(best["from_text"], from_text_seconds(name))
        timing_for.cache_clear()
        start = time.process_time()
        found, words = cost(target, decoded)
        best["model"] = min(best["model"], time.process_time() - start)
    net = best["mca"] - best["mca_start"]
    return {
        "target": target, "instructions": INSTRUCTIONS, "distinct": len(set(body)),
        **{f"{name}_ms": round(seconds * 1000, 2) for name, seconds in best.items()},
        "ratio_model": round(net / best["model"], 1), "ratio_from_text": round(net / best["from_text"], 1),
        "cycles": in_words(found.cycles), "limited_by": words,
    }  # fmt: skip


def markdown(report: dict[str, Any]) -> str:
    """The report for people."""
    lines = [
        "# Speed of the cost model beside llvm-mca",
        "",
        f"Made by `python -m benchmarks.cost_speed`: loop bodies of {INSTRUCTIONS} instructions, CPU time,",
        f"best of {RUNS} runs; llvm-mca with -iterations=10, the start of its process taken off.",
        "`from text` decodes too, in a process of its own that has met one instruction before.",
        "",
        "| body | distinct | llvm-mca | its start | model | from text | ratio | ratio from text |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in report.items():
        cells = [name, row["distinct"], f"{row['mca_ms']:.0f} ms", f"{row['mca_start_ms']:.0f} ms"]
        cells += [f"{row['model_ms']:.1f} ms", f"{row['from_text_ms']:.1f} ms"]
        cells += [f"{row['ratio_model']:.1f}", f"{row['ratio_from_text']:.1f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    if sys.argv[1:2] == [_FROM_TEXT]:
        print(time_from_text(sys.argv[2]))
        return 0
    report = {name: measure(name) for name in BODIES}
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "cost_speed.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = markdown(report)
    (results / "cost_speed.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
