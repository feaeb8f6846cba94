"""Recall on hazard mutants and silence on compiled kernels; writes ``results/hazard_mutation.json``.

    python -m benchmarks.hazard_mutation [--kernels N] [--seed N] [--gpu GPU ...] [--jobs N]

Every kernel of the generator (see ``tests/oracles/generated_kernels.py``) is checked as compiled, then once for
each mitigation deleted or shortened. What the compiler is known to miss is counted apart, with its source.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from tests.mutation.hazard_mutants import judge, mutants, positions
from tests.oracles.generated_kernels import GPUS, GeneratedKernel, compiler_version, generated_kernels

RESULT = Path(__file__).parent / "results" / "hazard_mutation.json"


def compiler_misses(violation: HazardViolation) -> str:
    """The published reason why LLVM 22 leaves this hazard in compiled code, or ``""``."""
    edge = violation.edge
    decoded = violation.consumer.decoded
    if violation.edge_id == "haz.vmem_store_data.war/sgpr_offset" or edge.record == "CDNA-DOT":
        return edge.missed_by
    if edge.rule.startswith(("haz.gfx1250.trans", "haz.wmma.")) and decoded is not None and decoded.halves:
        return "VOPD is not seen as a consumer (llvm-project PR 183573)"
    if decoded is not None and decoded.of(Op.GWS):
        return "GWS instructions are bundled with their wait and not looked at"
    matrix = edge.rule.startswith(("haz.mfma", "haz.wmma"))
    if matrix and violation.found == 19 and violation.needed == 20:
        return "look-back of 19 wait states (llvm-project PR 222040)"
    if (matrix or edge.rule == "haz.vmem_store_data.war") and len(violation.blocks) > 1:
        return "the search over several paths does not take the minimum (llvm-project issue 202333)"
    return ""


@dataclass
class Tally:
    """What was counted over some modules."""

    compiled: Counter[str] = field(default_factory=Counter)
    instructions: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    compiler: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in the counts of further modules."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            mine.extend(value) if isinstance(value, list) else mine.update(value)


def tally(module: GeneratedKernel, seed: int, per_kernel: int) -> Tally:
    """Judge the kernels of one module and their mutants, at most ``per_kernel`` of each (drawn by seed)."""
    found = Tally()
    target = find_target(module.gpu)
    graph = graph_for(target)
    program = build_program(parse_source(module.name, module.text), target, module.wave)
    for function in program.functions:
        found.compiled[module.gpu] += 1
        found.instructions[module.gpu] += len(function.instructions)
        found.unknown[module.gpu] += sum(one.decoded is None for one in function.instructions)
        for violation in hazard_violations(function, graph):
            reason = compiler_misses(violation)
            place = f"{module.name} {function.name}:{violation.consumer.statement.place.line}"
            if reason:
                found.compiler[f"{violation.edge_id}: {reason}"] += 1
            elif violation.severity == "error":
                found.alarms.append(f"{place} {violation.edge_id} '{violation.consumer.statement.text}'")
            else:
                found.warnings[f"{violation.edge_id} ({violation.severity})"] += 1
        before = positions(function, graph)
        every = list(mutants(function))
        rng = random.Random(f"{seed}/{module.name}/{function.name}")
        for mutant in rng.sample(every, min(per_kernel, len(every))):
            judgement = judge(mutant, graph, before)
            found.outcomes[module.gpu, judgement.outcome] += 1
            if judgement.outcome == "found":
                found.rules[judgement.rule] += 1
            elif judgement.outcome == "explained":
                found.reasons[judgement.reason] += 1
            else:
                line = function.instructions[mutant.place].statement.place.line
                found.misses.append(f"{module.name} {function.name}:{line} {mutant.change}: {judgement.reason}")
    return found


def run(kernels: int, seed: int, gpus: Sequence[str], per_kernel: int, jobs: int) -> dict[str, object]:
    """Measure in ``jobs`` processes; the result as it is written."""
    started = time.perf_counter()
    counted = Tally()
    with ProcessPoolExecutor(jobs) as pool:
        modules = generated_kernels(kernels, seed, gpus)
        for part in pool.map(partial(tally, seed=seed, per_kernel=per_kernel), modules):
            counted.add(part)
    total = Counter[str]()
    by_gpu: dict[str, dict[str, int]] = {gpu: {} for gpu in gpus}
    for (gpu, outcome), count in sorted(counted.outcomes.items()):
        total[outcome] += count
        by_gpu[gpu][outcome] = count
    needed = total["found"] + total["missed"]
    return {
        "command": "python -m benchmarks.hazard_mutation",
        "compiler": compiler_version(),
        "python": platform.python_version(),
        "seed": seed,
        "seconds": round(time.perf_counter() - started, 1),
        "jobs": jobs,
        "kernels": sum(counted.compiled.values()),
        "kernels_by_gpu": dict(counted.compiled),
        "instructions": sum(counted.instructions.values()),
        "instructions_not_decoded": dict(counted.unknown),
        "false_alarms": len(counted.alarms),
        "false_alarm_list": counted.alarms[:50],
        "hazards_that_the_compiler_misses": dict(counted.compiler.most_common()),
        "warnings_on_compiled_kernels": dict(counted.warnings.most_common()),
        "mutants": sum(total.values()),
        "mutants_needed": needed,
        "found": total["found"],
        "missed": total["missed"],
        "recall": round(total["found"] / needed, 5) if needed else None,
        "by_gpu": by_gpu,
        "found_by_rule": dict(counted.rules.most_common()),
        "not_needed_by_the_hardware": dict(counted.reasons.most_common()),
        "misses": counted.misses[:100],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=2340)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutants-per-kernel", type=int, default=8)
    parser.add_argument("--gpu", nargs="*", default=list(GPUS))
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    result = run(options.kernels, options.seed, options.gpu, options.mutants_per_kernel, options.jobs)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for key in ("kernels", "false_alarms", "mutants", "mutants_needed", "found", "missed", "recall", "seconds"):
        print(f"{key:16} {result[key]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
