"""Rewrites that are equal by construction against the prover: how many are proved, and how fast.

Usage: python -m benchmarks.proof_completeness [--rewrites 2000] [--seed 1] [--write]

Legal reorderings, renamings, copy removal and commutations of regions that clang-22 compiled for every target. Each
proof starts from nothing; its time is the better of two runs on the wall clock (other work on the machine shows
otherwise). Commuted float operations are equal but for the payload of NaNs: they are asked with ``nan_payloads`` any
and counted as a row of their own. Every fifth proof is checked by running both versions on random wavefronts
(llvmlite).
``--write`` puts the figures in ``benchmarks/results/proof_completeness.json``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.proof.equivalence import Proof, ProofOptions, prove_block
from asmevo_gate.proof.execution import Execution, run_both
from tests.proof.equal_rewrites import KINDS, Rewrite, rewrite
from tests.proof.region_sources import Slice, slices

RESULT = Path(__file__).parent / "results" / "proof_completeness.json"
WAVES = 64
EXECUTE_EVERY = 5


def main() -> int:
    """Run and report; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rewrites", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    proved: dict[str, int] = {}
    asked: dict[str, int] = {}
    times: list[float] = []
    disagreements = engines = 0
    for region in slices(options.rewrites, options.seed + 1, smallest=6, largest=60):
        for kind in KINDS:
            made = rewrite(region, isa_for(region.target, region.wave_size), kind, rng)
            if made is None or sum(asked.values()) >= options.rewrites:
                continue
            row = f"{kind} of floats" if made.nans else kind
            asked[row] = asked.get(row, 0) + 1
            proof, seconds = _prove(region, made)
            times.append(seconds)
            if proof.proved:
                proved[row] = proved.get(row, 0) + 1
                run = _run(region, made) if not made.nans and sum(proved.values()) % EXECUTE_EVERY == 0 else None
                engines += run is not None and run.engine == "llvm"
                if run is not None and run.different:
                    disagreements += 1
                    print(f"execution disagrees on {run.different}: {_texts(made)}", flush=True)
            else:
                print(f"{region.gpu} {row}: {proof.answer}: {proof.reason}: {_texts(made)}", flush=True)
        if sum(asked.values()) >= options.rewrites:
            break
    report = {
        "rewrites": sum(asked.values()),
        "proved": sum(proved.values()),
        "share_proved": round(sum(proved.values()) / sum(asked.values()), 5),
        "by_kind": {row: {"rewrites": count, "proved": proved.get(row, 0)} for row, count in sorted(asked.items())},
        "median_ms": round(1000 * statistics.median(times), 3),
        "p99_ms": round(1000 * sorted(times)[int(0.99 * len(times))], 3),
        "largest_ms": round(1000 * max(times), 3),
        "slower_than_50_ms": sum(one > 0.05 for one in times),
        "executed_by_llvm": engines,
        "execution_disagrees": disagreements,
    }
    print(json.dumps(report, indent=2))
    if options.write:
        RESULT.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if disagreements or report["share_proved"] < 0.99 else 0  # type: ignore[operator]


def _prove(region: Slice, made: Rewrite) -> tuple[Proof, float]:
    best = float("inf")
    options = ProofOptions(nan_payloads="any" if made.nans else "exact", lane_active=region.lane_active)
    for _ in range(2):
        start = time.perf_counter()
        proof = prove_block(
            made.old, made.new, region.live_out, target=region.target, wave_size=region.wave_size, options=options
        )
        best = min(best, time.perf_counter() - start)
    return proof, best


def _run(region: Slice, made: Rewrite) -> Execution:
    return run_both(
        made.old,
        made.new,
        region.live_out,
        target=region.target,
        wave_size=region.wave_size,
        waves=WAVES,
        lane_active=region.lane_active,
    )


def _texts(made: Rewrite) -> str:
    return " | ".join(decoded.text for decoded in made.old) + " => " + " | ".join(one.text for one in made.new)


if __name__ == "__main__":
    raise SystemExit(main())
