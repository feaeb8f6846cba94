"""Hold the cost model, and llvm-mca beside it, against published hardware measurements.

    python -m benchmarks.cost_truth            writes benchmarks/results/cost_truth.json and .md
    python -m benchmarks.cost_truth --checkout DIR      also whole kernels, from a checkout of their repository

The rows are ``data/measured_cycles.csv`` (published measurements with their sources), the sequences
``measured_sequences.py``. llvm-mca runs in the same process run, on the same text; its unit is one clk on RDNA and four
on GCN and CDNA. It knows neither several waves nor memory levels, so it is given one wave.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asmevo_gate.cost.block import BlockCost, block_cost
from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.cost.interval import high_of, low_of
from asmevo_gate.cost.kernel import kernel_cost
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from benchmarks.measured_sequences import (
    NOT_EVALUATED,
    WHOLE_KERNELS,
    WINDOWS,
    Sequence,
    WholeKernel,
    sequences,
)

HERE = Path(__file__).resolve().parent
COMPUTE = ("alu", "matrix", "lds", "loop")
MCA_ITERATIONS = 100
LARGEST_WINDOW = 32


def model(target: str, body: Iterable[str], sequence: Sequence) -> BlockCost:
    """The cost model's figure for a loop body."""
    fingerprint = load_fingerprint(target)
    size = sequence.wave_size or fingerprint.wave_sizes[0]
    isa = isa_for(find_target(target), size)
    decoded = [isa.decode(text) for text in body]
    for one in decoded:
        if not isinstance(one, Decoded):
            raise SystemExit(f"{target}: {one.text}: {one.reason}")
    return block_cost(
        [one for one in decoded if isinstance(one, Decoded)], fingerprint, sequence.waves, wave_size=size, loop=True,
        active_simds=sequence.active_simds,
    )  # fmt: skip


def mca(target: str, body: Iterable[str]) -> float | None:
    """Clk that llvm-mca gives one iteration, ``None`` when it refuses."""
    tool = shutil.which("llvm-mca-22") or shutil.which("llvm-mca")
    if tool is None:
        return None
    text = "loop:\n" + "\n".join(body) + "\n"
    run = subprocess.run(
        [tool, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", f"-iterations={MCA_ITERATIONS}"],
        input=text, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = re.search(r"Total Cycles:\s+(\d+)", run.stdout)
    if run.returncode or not found:
        return None
    return float(found[1]) / MCA_ITERATIONS * load_fingerprint(target).issue["turn_clk"].number


def evaluate(row: dict[str, str], sequence: Sequence) -> dict[str, Any]:
    """One row: measured, the model's figure or interval, llvm-mca's figure."""
    target = row["target"]
    cost = model(target, sequence.body, sequence)
    base = model(target, sequence.minus, sequence).cycles if sequence.minus else 0.0
    low = (low_of(cost.cycles) - low_of(base)) / sequence.divide
    high = (high_of(cost.cycles) - high_of(base)) / sequence.divide
    other = mca(target, sequence.body)
    if other is not None and sequence.minus:
        other -= mca(target, sequence.minus) or 0.0
    if other is not None:
        # One wave's time in place of all waves': llvm-mca knows a single wave.
        other = other * sequence.waves / sequence.divide
    return _result(row, low, high, other, sequence.parameter, cost.limited_by)


def window(row: dict[str, str]) -> dict[str, Any]:
    """Clk of VALU work that fits behind one matrix instruction at no cost."""
    matrix, valu = WINDOWS[row["id"]]
    target = row["target"]
    plain = Sequence(())

    def body(count: int) -> list[str]:
        return [matrix, *(valu.format(n=40 + n) for n in range(count))]

    alone = low_of(model(target, body(0), plain).cycles)
    alone_mca = mca(target, body(0))
    own = other = 0
    while own < LARGEST_WINDOW and low_of(model(target, body(own + 1), plain).cycles) <= alone:
        own += 1
    while alone_mca is not None and other < LARGEST_WINDOW and (mca(target, body(other + 1)) or 0) <= alone_mca * 1.02:
        other += 1
    clk = load_fingerprint(target).rows["valu"].interval.number
    return _result(row, own * clk, own * clk, other * clk if alone_mca is not None else None, True, "matrix core")


def whole_kernel(row: dict[str, str], kernel: WholeKernel, checkout: Path) -> dict[str, Any]:
    """Clk of a whole kernel: rounds of resident work-groups, each as long as its outermost loop."""
    text = (checkout / kernel.path).read_text(encoding="utf-8")
    program = build_program(parse_source(kernel.path, text, SourceOptions()), find_target(row["target"]))
    waves = kernel.resident_groups * kernel.waves_of_group // kernel.simds
    loop = kernel_cost(program.kernels[0], waves).loops[0]
    rounds = math.ceil(kernel.groups / (kernel.units * kernel.resident_groups))
    low, high = (end(loop.cycles) * kernel.iterations * rounds for end in (low_of, high_of))
    return _result(row, low, high, None, False, loop.limited_by)


def _result(
    row: dict[str, str], low: float, high: float, other: float | None, parameter: bool, limit: str
) -> dict[str, Any]:
    measured = float(row["cycles"])
    return {
        "id": row["id"], "target": row["target"], "device": row["device"], "group": row["group"],
        "sequence": row["sequence"], "source": row["source"], "measured": measured, "low": round(low, 3),
        "high": round(high, 3), "inside": low <= measured * 1.0001 and measured <= high * 1.0001,
        "error": round((low - measured) / measured, 4),
        "mca": None if other is None else round(other, 3),
        "mca_error": None if other is None else round((other - measured) / measured, 4),
        "quoted_by_fingerprint": parameter, "limited_by": limit,
    }  # fmt: skip


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and mean absolute error, for the model and for llvm-mca."""
    own = [abs(result["error"]) for result in results]
    other = [abs(result["mca_error"]) for result in results if result["mca_error"] is not None]
    return {
        "rows": len(results),
        "median_error": round(statistics.median(own), 4) if own else None,
        "mean_error": round(statistics.mean(own), 4) if own else None,
        "worst_error": round(max(own), 4) if own else None,
        "mca_rows": len(other),
        "mca_median_error": round(statistics.median(other), 4) if other else None,
        "mca_mean_error": round(statistics.mean(other), 4) if other else None,
        "mca_worst_error": round(max(other), 4) if other else None,
    }


def run(checkout: Path | None = None) -> dict[str, Any]:
    """Every row, and the figures over the groups; whole kernels where their ``checkout`` is given."""
    with (HERE / "data" / "measured_cycles.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    programs = sequences()
    results = []
    for row in rows:
        if row["id"] in WINDOWS:
            results.append(window(row))
        elif row["id"] in programs:
            results.append(evaluate(row, programs[row["id"]]))
        elif row["id"] not in NOT_EVALUATED:
            raise SystemExit(f"row {row['id']} has neither a sequence nor a reason to leave it out")
    compute = [result for result in results if result["group"] in COMPUTE]
    memory = [result for result in results if result["group"] == "memory"]
    kernels = [row for row in rows if checkout is not None and row["id"] in WHOLE_KERNELS]
    whole = [whole_kernel(row, WHOLE_KERNELS[row["id"]], checkout) for row in kernels if checkout is not None]
    done = {row["id"] for row in kernels}
    left_out = {row["id"]: NOT_EVALUATED[row["id"]] for row in rows if row["id"] in NOT_EVALUATED.keys() - done}
    return {
        "compute": summary(compute),
        "compute_predicted": summary([result for result in compute if not result["quoted_by_fingerprint"]]),
        "groups": {group: summary([r for r in compute if r["group"] == group]) for group in COMPUTE},
        "memory": {"rows": len(memory), "inside_interval": sum(result["inside"] for result in memory)},
        "whole_kernels": whole,
        "not_evaluated": left_out,
        "results": results,
    }  # fmt: skip


def markdown(report: dict[str, Any]) -> str:
    """The report for people."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    lines = [
        "# Cost model against published measurements",
        "",
        "Made by `python -m benchmarks.cost_truth`. Error: (estimate - measured) / measured.",
        "Rows marked * are quoted by the fingerprint itself: they show that a figure is used, they predict nothing.",
        "",
        "| rows | number | median error | mean error | llvm-mca median | llvm-mca mean |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    named = [("ALU, matrix, LDS, loops", report["compute"]), ("of these predicted", report["compute_predicted"])]
    named += [(f"only {group}", figures) for group, figures in report["groups"].items()]
    for name, figures in named:
        lines.append(
            f"| {name} | {figures['rows']} | {percent(figures['median_error'])} | {percent(figures['mean_error'])} "
            f"| {percent(figures['mca_median_error'])} | {percent(figures['mca_mean_error'])} |"
        )
    memory = report["memory"]
    lines += ["", f"Memory rows inside the interval: {memory['inside_interval']} of {memory['rows']}.", ""]
    lines += [
        "## Rows",
        "",
        "| id | GPU | sequence | measured | model | error | llvm-mca | error |",
        "| --- " * 8 + "|",
    ]
    for result in report["results"]:
        memory_row = result["group"] == "memory"
        value = f"{result['low']:g}..{result['high']:g}" if result["low"] != result["high"] else f"{result['low']:g}"
        error = ("inside" if result["inside"] else "OUTSIDE") if memory_row else percent(result["error"])
        star = "*" if result["quoted_by_fingerprint"] else ""
        other = "-" if result["mca"] is None else f"{result['mca']:g}"
        lines.append(
            f"| {result['id']}{star} | {result['target']} | {result['sequence']} | {result['measured']:g} | {value} "
            f"| {error} | {other} | {percent(result['mca_error'])} |"
        )
    for name, key in (("model", "error"), ("llvm-mca", "mca_error")):
        wrong = [r for r in report["results"] if r["group"] in COMPUTE and r[key] is not None and abs(r[key]) > 0.05]
        lines += ["", f"## Where the {name} errs by more than 5 %", ""]
        lines += [f"- {r['id']} ({r['target']}): {r['sequence']}: {percent(r[key])}" for r in wrong] or ["nowhere"]
    if report["whole_kernels"]:
        lines += [
            "",
            "## Whole kernels",
            "",
            "Clocks were not locked; the measured clk assume the clock of the row.",
            "",
        ]
        lines += [
            f"- {r['id']} ({r['target']}): {r['sequence']}: measured {r['measured']:.3g} clk, model {r['low']:.3g} to "
            f"{r['high']:.3g}, error at the low end {percent(r['error'])}"
            for r in report["whole_kernels"]
        ]
    lines += ["", "## Rows left out", ""]
    lines += [f"- {row}: {why}" for row, why in report["not_evaluated"].items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Cost model against published measurements.")
    parser.add_argument("--checkout", type=Path, help="a checkout of seb-v/fp32_sgemm_amd, for its whole kernels")
    report = run(parser.parse_args().checkout)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "cost_truth.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = markdown(report)
    (results / "cost_truth.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
