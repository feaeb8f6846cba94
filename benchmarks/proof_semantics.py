"""The instruction semantics of the prover against the host, on random LLVM IR functions for every target.

Usage: python -m benchmarks.proof_semantics [--functions 10000] [--seed 1] [--write]

Each function is compiled by llc-22 for a GPU; the assembly runs in the prover's semantics on edge-case and random
lanes, with and without the normal form. The host's result for the same IR (llvmlite) must be the same bits (any NaN
for any NaN). Also counted: which mnemonics occurred, and which have no written meaning. ``--write`` puts the figures
in ``benchmarks/results/proof_semantics.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from tests.proof.ir_functions import TARGETS
from tests.proof.semantics_oracle import Agreement, compare

RESULT = Path(__file__).parent / "results" / "proof_semantics.json"
BATCH = 50


def main() -> int:
    """Run and report; exit code 1 when a value differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--functions", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    start = time.monotonic()
    total = Agreement()
    by_target: dict[str, int] = {}
    batch = 0
    while total.functions < options.functions:
        gpu, wave = TARGETS[batch % len(TARGETS)]
        found = compare(gpu, wave, options.seed * 10_007 + batch, BATCH)
        total.add(found)
        by_target[f"{gpu} wave{wave}"] = by_target.get(f"{gpu} wave{wave}", 0) + found.functions
        for message in found.wrong[:3]:
            print(message, flush=True)
        batch += 1
        if batch % len(TARGETS) == 0:
            print(f"{total.functions} functions, {total.values} values, {len(total.wrong)} wrong", flush=True)
    report = {
        "functions": total.functions,
        "by_target": by_target,
        "instructions": total.instructions,
        "values_compared": total.values,
        "values_that_differ": len(total.wrong),
        "results_left_open": total.open_values,
        "functions_skipped": dict(total.skipped.most_common()),
        "mnemonics": len(total.bases),
        "mnemonic_counts": dict(total.bases.most_common()),
        "without_written_meaning": dict(total.uninterpreted.most_common()),
        "seconds": round(time.monotonic() - start),
    }
    shown = {key: value for key, value in report.items() if key not in ("mnemonic_counts", "by_target")}
    print(json.dumps(shown, indent=2))
    if options.write:
        RESULT.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
