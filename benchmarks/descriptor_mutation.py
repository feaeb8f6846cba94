"""How many damaged descriptors, metadata documents and control flows of compiled kernels are found.

    python -m benchmarks.descriptor_mutation [--outputs N] [--per-kernel N] [--seed N]

Writes ``benchmarks/results/descriptor_mutation.json``; the exit code is 1 when one is missed. Needs clang-22.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.mutation.descriptor_mutants import tally
from tests.oracles.compiled_kernels import compiled_kernels

RESULT = Path(__file__).parent / "results" / "descriptor_mutation.json"


def main() -> int:
    """Damage, check, count."""
    parser = argparse.ArgumentParser(description="Mutation test of descriptor, metadata and control-flow rules.")
    parser.add_argument("--outputs", type=int, default=400)
    parser.add_argument("--per-kernel", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    result = tally(compiled_kernels(arguments.outputs), arguments.seed, arguments.per_kernel)
    report = {
        "mutants": sum(result.made.values()),
        "found": sum(result.found.values()),
        "by_mutation": {name: [result.found[name], made] for name, made in sorted(result.made.items())},
        "missed": result.missed[:50],
        "command": f"python -m benchmarks.descriptor_mutation --outputs {arguments.outputs} --seed {arguments.seed}",
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1))
    return 1 if result.missed else 0


if __name__ == "__main__":
    sys.exit(main())
