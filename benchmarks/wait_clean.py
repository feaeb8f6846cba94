"""Findings of the wait rules in compiler output, which should be none: all kernels of the oracle.

    python -m benchmarks.wait_clean [--limit N]

Writes ``benchmarks/results/wait_clean.json``. Needs the compiler that ``tests/oracles/compiled_kernels.py`` names.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_violations import wait_violations
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from tests.oracles.compiled_kernels import compiled_kernels

RESULT = Path(__file__).parent / "results" / "wait_clean.json"


def main() -> None:
    """Check everything, print and write."""
    parser = argparse.ArgumentParser(description="Wait findings in compiler output.")
    parser.add_argument("--limit", type=int)
    limit = parser.parse_args().limit
    outputs = kernels = functions = instructions = 0
    errors: list[str] = []
    warnings: Counter[str] = Counter()
    not_modelled: Counter[str] = Counter()
    for output in compiled_kernels(limit):
        outputs += 1
        for function in build_program(parse_source(output.name, output.text), find_target(output.gpu)).functions:
            functions += 1
            kernels += function.is_kernel
            instructions += len(function.instructions)
            memory = pending_memory(function)
            for one in wait_violations(memory):
                if one.certain:
                    errors.append(
                        f"{output.gpu} {output.name} {function.name}: {one.rule}: {one.consumer.statement.text}"
                    )
                else:
                    warnings[f"{output.gpu} {one.rule}"] += 1
            not_modelled.update(reason.split(":")[0].split("'")[-1].strip() for _, reason in memory.not_modelled)
    result = {
        "command": "python -m benchmarks.wait_clean",
        "compiler_outputs": outputs,
        "kernels": kernels,
        "functions": functions,
        "instructions": instructions,
        "errors": len(errors),
        "error_findings": errors[:50],
        "warnings": dict(warnings),
        "not_modelled": dict(not_modelled.most_common(20)),
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
