"""One version of one file, analysed for each of its targets: programs, violations, metrics, coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from asmevo_gate.analysis.reachability import calls_not_followed, subroutines_not_followed
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.cost.interval import scaled
from asmevo_gate.errors import GateError
from asmevo_gate.gate.result import Metrics, Unknown
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.calls import CallTargets
from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import FileFacts, KernelFacts
from asmevo_gate.rules.registry import all_rules
from asmevo_gate.rules.rule import Rule, Violation
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.verify.machine_words import expand_machine_words, has_machine_words
from asmevo_gate.verify.numeric_branches import has_numeric_branches, label_numeric_branches


class FoundViolation(msgspec.Struct, frozen=True):
    """A violation with the rule that reported it and the kernel it belongs to (``""`` at file level)."""

    rule: Rule
    violation: Violation
    kernel: str


class CheckedProgram(msgspec.Struct, frozen=True):
    """One file for one target."""

    program: Program
    kernels: tuple[KernelFacts, ...]
    violations: tuple[FoundViolation, ...]
    unknown: tuple[Unknown, ...]
    instructions: int
    modelled: int


def check_text(
    path: str,
    text: str,
    target: Target,
    options: SourceOptions,
    wave_size: int | None = None,
    base: CheckedProgram | None = None,
    rule_filter: Callable[[Rule], bool] | None = None,
    constraints: ConstraintGraph | None = None,
    profiles: frozenset[str] = frozenset(),
) -> CheckedProgram:
    """Parse a file, build its program for one target and run every rule.

    Raises:
        GateError: the text cannot be read as assembly, or exceeds a limit.
    """
    return check_program(
        parsed_program(path, text, target, options, wave_size), base, rule_filter, constraints, profiles
    )


def check_program(
    program: Program,
    base: CheckedProgram | None = None,
    rule_filter: Callable[[Rule], bool] | None = None,
    constraints: ConstraintGraph | None = None,
    profiles: frozenset[str] = frozenset(),
) -> CheckedProgram:
    """Run every rule over a program that was read already."""
    base_kernels = {facts.kernel.name: facts for facts in base.kernels} if base else {}
    targets = CallTargets(program.functions)
    kernels = tuple(
        KernelFacts(program, function, base_kernels.get(function.name), constraints, profiles, targets)
        for function in program.functions
    )
    rules = [rule for rule in all_rules() if rule_filter is None or rule_filter(rule)]
    violations = tuple(_violations(rules, FileFacts(program, kernels)))
    total = sum(len(function.instructions) for function in program.functions)
    modelled = total - sum(len(function.not_understood) for function in program.functions)
    return CheckedProgram(program, kernels, violations, tuple(_unknown(program, kernels)), total, modelled)


def parsed_program(
    path: str, text: str, target: Target, options: SourceOptions, wave_size: int | None = None
) -> Program:
    """Text -> program: parsed, its machine words disassembled, its functions and blocks built.

    Raises:
        GateError: the text cannot be read as assembly, or exceeds a limit.
    """
    source = parse_source(path, text, options)
    for problem in source.problems:
        if problem.severity == "error":
            raise GateError(problem.message, problem.repair, problem.place.file, problem.place.line)
    if has_machine_words(source):
        source = expand_machine_words(source, target, wave_size)
    if has_numeric_branches(source):
        source = label_numeric_branches(source, target, wave_size)
    return build_program(source, target, wave_size)


def _violations(rules: list[Rule], file_facts: FileFacts) -> Iterator[FoundViolation]:
    for rule in rules:
        for violation in rule.check_file(file_facts):
            yield FoundViolation(rule, violation, "")
        for facts in file_facts.kernels:
            for violation in rule.check_kernel(facts):
                yield FoundViolation(rule, violation, facts.kernel.name)


def _unknown(program: Program, kernels: Iterable[KernelFacts]) -> Iterator[Unknown]:
    """What the program holds that no analysis can see through; each entry makes the verdict "not checked"."""
    for problem in program.source.problems:
        yield Unknown(problem.place.file, problem.place.line, "", problem.message)
    for statement, reason in program.not_modelled:
        yield Unknown(statement.place.file, statement.place.line, statement.text.splitlines()[0], reason)
    for function in program.functions:
        for instruction in function.instructions:
            if instruction.unknown is not None and instruction.unknown.kind != "not_on_target":
                place = instruction.statement.place
                yield Unknown(place.file, place.line, instruction.statement.text, instruction.unknown.reason)
        for block in function.blocks:
            if block.lost:
                statement = function.instructions[block.end - 1].statement
                yield Unknown(statement.place.file, statement.place.line, statement.text, block.lost)
        for block, reason in calls_not_followed(function):
            statement = function.instructions[block.end - 1].statement
            reason = f"what happens in a subroutine of the function is not followed: {reason}"
            yield Unknown(statement.place.file, statement.place.line, statement.text, reason)
        for run in subroutines_not_followed(function):
            statement = function.instructions[run[0].first].statement
            reason = "subroutines from here on are only reached by calls, which are not followed"
            yield Unknown(statement.place.file, statement.place.line, statement.text, reason)
    for facts in kernels:
        for index, reason in facts.pending.unknown_waits:
            statement = facts.kernel.instructions[index].statement
            yield Unknown(statement.place.file, statement.place.line, statement.text, reason)


def kernel_metrics(facts: KernelFacts) -> Metrics:
    """The numbers of one kernel; what is not known stays ``None``."""
    resources = facts.resources
    understood = all(instruction.decoded is not None for instruction in facts.kernel.instructions)
    timed = understood and not facts.cost.not_modelled
    return Metrics(
        vgpr_live_max=facts.liveness.vgpr_peak.count if understood else None,
        vgpr_allocated=resources.vgpr_allocated,
        agpr_allocated=resources.agpr_allocated,
        sgpr_allocated=resources.sgpr_allocated,
        lds_bytes=resources.lds_bytes,
        scratch_bytes=resources.scratch_bytes,
        occupancy_waves_per_simd=resources.occupancy_waves_per_simd,
        instructions=len(facts.kernel.instructions),
        cycles=scaled(facts.cost.cycles, 1 / facts.cost.waves) if timed else None,
        ipc=facts.cost.ipc if timed else None,
    )
