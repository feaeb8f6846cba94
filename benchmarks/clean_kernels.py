"""All rules over compiled kernels: what a correct compiler writes must give no error.

    python -m benchmarks.clean_kernels [--outputs N] [--processes N] [--rule ID ...] [--gpu GPU ...]

Writes ``benchmarks/results/clean_kernels.json`` (not with ``--rule`` or ``--gpu``); the exit code is 1 when a
kernel has an error finding. Needs clang-22. The first run compiles (about 0.1 s an output); outputs are cached.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from tests.oracles.clean_findings import Outcome, findings_of_job
from tests.oracles.compiled_kernels import GPUS, sample

RESULT = Path(__file__).parent / "results" / "clean_kernels.json"
_SHOWN = 40


def main() -> int:
    """Check every output and count the findings."""
    parser = argparse.ArgumentParser(description="False alarms of all rules on compiled kernels.")
    parser.add_argument("--outputs", type=int, default=2200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rule", action="append", default=[], help="only this rule (repeatable)")
    parser.add_argument("--gpu", action="append", default=[], help="only this GPU (repeatable)")
    arguments = parser.parse_args()
    started = time.perf_counter()
    outcomes: list[Outcome] = []
    work = sample(arguments.outputs, arguments.gpu or GPUS)
    with Pool(arguments.processes) as pool:
        for outcome in pool.imap_unordered(partial(findings_of_job, rules=tuple(arguments.rule)), work, chunksize=8):
            outcomes.append(outcome)
    found = Counter((rule, severity, outcome.gpu) for outcome in outcomes for rule, severity, _ in outcome.findings)
    errors = sorted(
        f"{outcome.gpu} {outcome.name}: {rule}: {what}"
        for outcome in outcomes
        for rule, severity, what in outcome.findings
        if severity == "error"
    )
    kernels = sum(outcome.kernels for outcome in outcomes)
    result = {
        "outputs": len(outcomes),
        "kernels": kernels,
        "functions": sum(outcome.functions for outcome in outcomes),
        "instructions": sum(outcome.instructions for outcome in outcomes),
        "errors": len(errors),
        "findings": _by_rule(found),
        "error_findings": errors[:_SHOWN],
        "command": f"python -m benchmarks.clean_kernels --outputs {arguments.outputs}",
    }
    if not arguments.rule and not arguments.gpu:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", "utf-8")
    for (rule, severity), count in sorted(Counter((rule, severity) for rule, severity, _ in found.elements()).items()):
        print(f"{rule:28} {severity:8} {count}")
    for line in errors[:_SHOWN]:
        print(line)
    seconds = time.perf_counter() - started
    print(f"{kernels} kernels in {len(outcomes)} outputs, {len(errors)} error findings, {seconds:.0f} s")
    return 1 if errors else 0


def _by_rule(found: Counter[tuple[str, str, str]]) -> dict[str, dict[str, dict[str, int]]]:
    """Counts by rule, severity and GPU."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for (rule, severity, gpu), count in sorted(found.items()):
        table.setdefault(rule, {}).setdefault(severity, {})[gpu] = count
    return table


if __name__ == "__main__":
    sys.exit(main())
