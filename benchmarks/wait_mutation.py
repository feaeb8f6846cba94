"""How many damaged waits of compiled kernels are found, and why the others are still correct.

    python -m benchmarks.wait_mutation [--mutants N] [--per-function N] [--seed N]

Writes ``benchmarks/results/wait_mutation.json``. Needs the compiler that ``tests/oracles/compiled_kernels.py`` names.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source
from tests.mutation.wait_mutants import MISSED, STORES_ONLY, tally
from tests.oracles.compiled_kernels import GPUS, compiled_kernels

RESULT = Path(__file__).parent / "results" / "wait_mutation.json"


def functions(gpu: str) -> Iterator[Function]:
    """Functions of compiled kernels of one GPU, in the fixed order of the oracle."""
    for kernel in compiled_kernels(gpus=[gpu]):
        yield from build_program(parse_source(kernel.name, kernel.text), find_target(gpu)).functions


def main() -> None:
    """Run over all GPUs and write the result."""
    parser = argparse.ArgumentParser(description="Mutation test of the wait rules.")
    parser.add_argument("--mutants", type=int, default=13_000)
    parser.add_argument("--per-function", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.perf_counter()
    total: Counter[str] = Counter()
    by_gpu = {}
    missed: list[str] = []
    for gpu in GPUS:
        counts, missed_here = tally(
            functions(gpu), arguments.mutants // len(GPUS), arguments.seed, arguments.per_function
        )
        total.update(counts)
        missed += missed_here
        by_gpu[gpu] = dict(counts)
        print(gpu, dict(counts), f"{time.perf_counter() - started:.0f} s", flush=True)
    wrong = total["found"] + total[MISSED]
    result = {
        "mutants": total["mutants"],
        "found": total["found"],
        "missed": total[MISSED],
        "recall": total["found"] / wrong if wrong else None,
        "still_correct": {key: value for key, value in total.items() if key not in ("mutants", "found", MISSED)},
        "memory_order_only": total[STORES_ONLY],
        "by_gpu": by_gpu,
        "missed_mutants": missed[:50],
        "seed": arguments.seed,
        "command": f"python -m benchmarks.wait_mutation --mutants {arguments.mutants} --seed {arguments.seed}",
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "by_gpu"}, indent=1))


if __name__ == "__main__":
    main()
