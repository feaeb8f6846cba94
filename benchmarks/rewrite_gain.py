"""What proved rewrites gain on compiler output: GEMM, attention, FFT, reduction and convolution kernels.

    python -m benchmarks.rewrite_gain                  writes benchmarks/results/rewrite_gain.json and .md
    python -m benchmarks.rewrite_gain --kernels DIR    also the .s files in DIR (named FAMILY_anything.s)
    python -m benchmarks.rewrite_gain --limit N        the first N files only, written nowhere
    python -m benchmarks.rewrite_gain --region-set     writes the kernels that ``asmevo-gate bench-model`` asks about

Kernels are compiled by clang from ``tests/oracles/sources`` and ``data/rewrite_gain``. A region counts when it has at
least four computing instructions. Cycles are those of the cost model for one wave; every gain is proved and checked.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import asmevo_gate.rewrite
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.errors import GateError
from asmevo_gate.gate.region_set import FILE, SetKernel, counted_regions, packed
from asmevo_gate.gate.rewriting import GateJudge, rewrite_text
from asmevo_gate.gate.target_choice import Configuration, named_target
from asmevo_gate.rewrite.proposal import RewriteOptions
from asmevo_gate.rewrite.proposers import deterministic_proposers
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols
from tests.oracles.compiled_kernels import COMPILER, SOURCES

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
GAIN = 3.0
GPUS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
FAMILIES = {
    "GEMM": ("matmul_naive", "matmul_tiled", "matrix_core", "matrix_core_large"),
    "attention": ("attention", "softmax"),
    "FFT": ("fft_butterfly",),
    "reduction": ("reduction", "dpp_reduction"),
    "convolution": ("convolution",),
}


class Kernel(NamedTuple):
    """One file of compiler output."""

    family: str
    name: str
    text: str


def compiled() -> Iterator[Kernel]:
    """clang's output for every family and GPU."""
    for family, names in FAMILIES.items():
        for name in names:
            source = next(
                path for path in (SOURCES / f"{name}.cl", HERE / f"data/rewrite_gain/{name}.cl") if path.exists()
            )
            for gpu in GPUS:
                command = [
                    COMPILER, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib",
                    "-w", "-O3", f"-I{SOURCES}", "-S", str(source), "-o", "-",
                ]  # fmt: skip
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
                if done.returncode:
                    raise SystemExit(f"{name} for {gpu}: {done.stderr[:1000]}")
                yield Kernel(family, f"{name} {gpu}", done.stdout)


def given(directory: Path) -> Iterator[Kernel]:
    """Files of another compiler: ``gemm_anything.s`` belongs to the family GEMM."""
    by_name = {family.lower(): family for family in FAMILIES}
    for path in sorted(directory.glob("*.s")):
        family = by_name.get(path.stem.partition("_")[0].lower())
        if family is not None:
            yield Kernel(family, path.stem.partition("_")[2], path.read_text("utf-8"))


def measure(kernel: Kernel) -> dict[str, Any]:
    """All regions of one file: how many, and what each accepted rewrite gains."""
    target = named_target(kernel.name, kernel.text)
    if target is None:
        raise SystemExit(f"{kernel.name} names no target")
    way = Configuration(target, {}, (), None)
    options = SourceOptions(predefined=predefined_symbols(target.name))
    judge = GateJudge("kernel.s", way, options, graph_for(target), frozenset())
    program = judge.parse(kernel.text)
    regions = {(region.function.name, region.first) for region in counted_regions(program)}
    start = time.perf_counter()
    rewrite_options = RewriteOptions()
    result = rewrite_text("kernel.s", kernel.text, judge, rewrite_options, deterministic_proposers(rewrite_options))
    seconds = time.perf_counter() - start
    gains: dict[tuple[str, int], dict[str, float]] = {}
    proposers: Counter[str] = Counter()
    for run in result.runs[:1]:
        for one in run.accepted:
            key = one.candidate.region.function.name, one.candidate.region.first
            if key in regions:
                gains[key] = one.metrics
                proposers.update({proposal.proposer for proposal in one.candidate.proposals})
    rejected = Counter(one.class_ for one in result.rewrites if one.state == "rejected")
    return {
        "family": kernel.family,
        "kernel": kernel.name,
        "regions": len(regions),
        "seconds": round(seconds, 2),
        "gains": list(gains.values()),
        "proposers": dict(proposers),
        "rejected": dict(rejected),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of some files together."""
    regions = sum(row["regions"] for row in rows)
    gains = [gain for row in rows for gain in row["gains"]]
    large = [gain for gain in gains if gain["gain_percent"] >= GAIN]
    busy = [gain for gain in gains if _percent(gain, "busy") >= GAIN]
    blocks = [gain for gain in gains if _percent(gain, "block_cycles") >= GAIN]

    def change(name: str, among: list[dict[str, float]]) -> float:
        before, after = (sum(gain[f"{name}_{side}"] for gain in among) for side in ("before", "after"))
        return round(100 * (after - before) / before, 2) if before else 0.0

    return {
        "files": len(rows),
        "regions": regions,
        "rewritten": len(gains),
        "gain_3_percent": len(large),
        "share_3_percent": round(100 * len(large) / regions, 1) if regions else 0.0,
        "gain_3_percent_at_occupancy": len(busy),
        "share_3_percent_at_occupancy": round(100 * len(busy) / regions, 1) if regions else 0.0,
        "gain_3_percent_of_block": len(blocks),
        "share_3_percent_of_block": round(100 * len(blocks) / regions, 1) if regions else 0.0,
        "median_gain_percent": round(statistics.median(gain["gain_percent"] for gain in large), 1) if large else 0.0,
        "vgpr_change_percent": change("vgprs_live", gains),
        "ipc_change_percent": round(
            statistics.mean(100 * (gain["ipc_after"] / gain["ipc_before"] - 1) for gain in gains), 2
        )
        if gains
        else 0.0,
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }


def _percent(gain: dict[str, float], name: str) -> float:
    before = gain[f"{name}_before"]
    return 100 * (before - gain[f"{name}_after"]) / before if before else 0.0


_COLUMNS = (
    ("regions", "regions"),
    ("rewritten", "rewritten"),
    ("gain_3_percent", ">= 3 % fewer cycles, one wave"),
    ("share_3_percent", "share, %"),
    ("share_3_percent_at_occupancy", "share at the kernel's occupancy, %"),
    ("share_3_percent_of_block", "share of the whole block, %"),
    ("median_gain_percent", "median gain, %"),
    ("vgpr_change_percent", "live VGPRs of rewritten regions, %"),
    ("ipc_change_percent", "IPC of rewritten regions, %"),
)


def table(groups: dict[str, dict[str, Any]]) -> str:
    """The summaries as Markdown."""
    lines = ["| set | " + " | ".join(title for _, title in _COLUMNS) + " |", "| --- |" + " ---: |" * len(_COLUMNS)]
    lines += [f"| {name} | " + " | ".join(str(row[key]) for key, _ in _COLUMNS) + " |" for name, row in groups.items()]
    return "\n".join(lines)


def write_region_set() -> None:
    """Put the compiled kernels where the gate ships them."""
    place = Path(asmevo_gate.rewrite.__file__).parent / FILE
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(packed([SetKernel(*kernel) for kernel in compiled()]))


def main(arguments: list[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--region-set", action="store_true")
    options = parser.parse_args(arguments)
    if options.region_set:
        write_region_set()
        return 0
    kernels = [*compiled(), *(given(options.kernels) if options.kernels else ())]
    rows = []
    for kernel in kernels[: options.limit]:
        try:
            row = measure(kernel)
        except GateError as error:
            print(f"{kernel.name}: left out: {error}", file=sys.stderr)
            continue
        rows.append(row)
        print(
            kernel.family, kernel.name, row["regions"], len(row["gains"]), row["rejected"], row["seconds"], flush=True
        )
    groups = {family: summary([row for row in rows if row["family"] == family]) for family in FAMILIES}
    groups |= {gpu: summary([row for row in rows if gpu in row["kernel"]]) for gpu in GPUS}
    groups["all"] = summary(rows)
    text = table({name: group for name, group in groups.items() if group["files"]})
    print(text)
    if options.limit is None:
        for row in rows:
            row["gains"] = [gain["gain_percent"] for gain in row["gains"]]
        document = {"schema": "asmevo-gate/rewrite_gain/1", "groups": groups, "files": rows}
        (RESULTS / "rewrite_gain.json").write_text(json.dumps(document, indent=1) + "\n")
        (RESULTS / "rewrite_gain.md").write_text(_PAGE.format(table=text))
    return 0


_PAGE = """# What proved rewrites gain on compiler output

Repeat: `python benchmarks/triton_kernels.py DIR` (Triton 3.9.0), then
`python -m benchmarks.rewrite_gain --kernels DIR`.

Regions of at least four computing instructions, from clang 22 at -O3 and from Triton. Cycles are estimates of the cost
model. The first share is of the region alone for one wave; the second for the waves that fit on a SIMD, which hide most
latencies for each other; the third counts the cycles of the whole basic block for one wave. A region that could not be
improved counts as no gain. VGPR and IPC changes are over the rewritten regions.

What LLVM has scheduled seldom gains. Most of what is left is order: around VALU and transcendental latencies
on RDNA, in place of padding and around matrix instructions on CDNA, where a dependent VALU instruction loses no cycle.

{table}
"""


if __name__ == "__main__":
    sys.exit(main())
