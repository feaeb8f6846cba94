"""What the rules say about one compiled kernel file, in a form that can cross processes."""

from __future__ import annotations

from typing import NamedTuple

from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.isa.targets import find_target
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols
from benchmarks.hazard_mutation import compiler_misses
from tests.oracles.compiled_kernels import Job, compile_job

COMPILER_FAULT = "compiler fault"
"""Stands for the severity of a finding that is right: the published fault of the compiler is named in its data."""


class Outcome(NamedTuple):
    """One compiler output: its size, and each finding as (rule, severity, line and message)."""

    gpu: str
    name: str
    kernels: int
    functions: int
    instructions: int
    findings: tuple[tuple[str, str, str], ...]


def findings_of_job(job: Job, rules: tuple[str, ...] = ()) -> Outcome:
    """Compile (or take from the cache) and check with the rules named, or with all."""
    target = find_target(job.gpu)
    checked = check_text(
        f"{job.source.stem}.s",
        compile_job(job),
        target,
        SourceOptions(predefined=predefined_symbols(job.gpu)),
        64 if "-mwavefrontsize64" in job.options else None,
        None,
        (lambda rule: rule.id in rules) if rules else None,
    )
    missed = _missed_by_the_compiler(checked)
    return Outcome(
        job.gpu,
        job.name,
        len(checked.program.kernels),
        len(checked.program.functions),
        checked.instructions,
        tuple(
            (one.rule, COMPILER_FAULT if (one.rule, one.line) in missed else one.severity, f"{one.line}: {one.message}")
            for one in findings_of(checked, {})
        ),
    )


def _missed_by_the_compiler(checked: CheckedProgram) -> set[tuple[str, int]]:
    """Rule and line of hazards that LLVM 22 leaves in its own code for a published reason."""
    return {
        (violation.edge.rule, violation.consumer.statement.place.line)
        for facts in checked.kernels
        for violation in facts.hazards
        if compiler_misses(violation)
    }
