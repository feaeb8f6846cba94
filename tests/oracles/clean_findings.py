"""What the rules say about one compiled kernel file, in a form that can cross processes."""

from __future__ import annotations

from typing import NamedTuple

from asmevo_gate.gate.file_check import check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.isa.targets import find_target
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols
from tests.oracles.compiled_kernels import Job, compile_job


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
    return Outcome(
        job.gpu,
        job.name,
        len(checked.program.kernels),
        len(checked.program.functions),
        checked.instructions,
        tuple((one.rule, one.severity, f"{one.line}: {one.message}") for one in findings_of(checked, {})),
    )
