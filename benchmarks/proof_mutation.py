"""Mutated rewrites against the prover: nothing that execution tells apart may be accepted.

Usage: python -m benchmarks.proof_mutation [--mutants 1000000] [--regions 500] [--seed 1] [--processes 1] [--write]

Regions come from kernels that clang-22 compiled for every target. A mutant is one small change (operand swapped or
replaced, destination changed, instruction dropped, order broken, immediate, mask or mnemonic changed). What the prover
accepts is executed, as the semantics are written and on other wavefronts than the prover looked at, and every live
register is compared. ``--write`` puts the figures in ``benchmarks/results/proof_mutation.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tests.proof.region_sources import slices
from tests.proof.soundness import Tally, judge

RESULT = Path(__file__).parent / "results" / "proof_mutation.json"


def _report(total: Tally, regions: int, gpus: Counter[str], start: float) -> dict[str, object]:
    kinds: dict[str, dict[str, int]] = {}
    for (kind, answer), count in sorted(total.kinds.items()):
        kinds.setdefault(kind, {})[answer] = count
    return {
        "mutants": total.mutants,
        "regions": regions,
        "regions_by_gpu": dict(gpus.most_common()),
        "answers": dict(total.answers.most_common()),
        "accepted_that_execution_distinguishes": len(total.unsound),
        "by_kind": kinds,
        "seconds": round(time.monotonic() - start),
    }


def _sum(parts: list[Any]) -> Any:
    """Figures of several runs with different seeds, added up key by key."""
    if isinstance(parts[0], dict):
        keys = {key: None for part in parts for key in part}
        return {key: _sum([part[key] for part in parts if key in part]) for key in keys}
    return sum(parts)


def main() -> int:
    """Run and report; exit code 1 when something unsound was accepted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", type=int, default=1_000_000)
    parser.add_argument("--regions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--result", type=Path, default=RESULT, help="where --write puts the figures")
    parser.add_argument("--sum", type=Path, nargs="+", help="run nothing: add up the figures of these runs")
    options = parser.parse_args()
    if options.sum:
        options.result.write_text(
            json.dumps(_sum([json.loads(path.read_text()) for path in options.sum]), indent=1) + "\n"
        )
        return 0
    start = time.monotonic()
    regions = list(slices(options.regions, options.seed))
    each = -(-options.mutants // len(regions))
    seeds = [options.seed * 1_000_003 + number for number in range(len(regions))]
    total = Tally()
    gpus: Counter[str] = Counter()
    number = 0
    with ProcessPoolExecutor(options.processes) as workers:
        tallies = workers.map(judge, regions, [each] * len(regions), seeds)
        for number, (region, found) in enumerate(zip(regions, tallies, strict=True)):
            total.add(found)
            gpus[region.gpu] += 1
            for text in found.unsound[:2]:
                print(text, flush=True)
            if number % 25 == 24:
                seconds = time.monotonic() - start
                print(
                    f"{number + 1} regions, {total.mutants} mutants, {dict(total.answers)}, {seconds:.0f} s", flush=True
                )
                if options.write:
                    options.result.write_text(json.dumps(_report(total, number + 1, gpus, start), indent=1) + "\n")
    report = _report(total, number + 1, gpus, start)
    print(json.dumps(report, indent=2))
    if options.write:
        options.result.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if total.unsound else 0


if __name__ == "__main__":
    raise SystemExit(main())
