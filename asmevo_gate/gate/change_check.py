"""One changed file, checked at base and head in each way in which it is built: its part of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from asmevo_gate.changes.model import Change, Side
from asmevo_gate.constraints.files import graph_for, lay_over
from asmevo_gate.constraints.model import ConstraintFile, ConstraintGraph
from asmevo_gate.errors import GateError
from asmevo_gate.gate.beside import beside
from asmevo_gate.gate.block_match import block_reports
from asmevo_gate.gate.comparison import mark_new, metric_delta
from asmevo_gate.gate.compile_check import RULE, assemble_source, assembly_findings
from asmevo_gate.gate.file_check import CheckedProgram, check_program, check_text, kernel_metrics, parsed_program
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.inputs import InputText, input_texts
from asmevo_gate.gate.picture import KernelPicture, kernel_picture
from asmevo_gate.gate.result import Coverage, Finding, KernelReport, Unknown
from asmevo_gate.gate.settings import Settings
from asmevo_gate.gate.suppressions import apply_suppressions, read_suppressions
from asmevo_gate.gate.target_choice import Configuration, configurations, skip_reason
from asmevo_gate.isa.targets import Target, target_id
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Rule, Severity
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.recognise import decode_source
from asmevo_gate.source.symbols import predefined_symbols
from asmevo_gate.verify.assembler import NotAssembled


class Request(msgspec.Struct, frozen=True):
    """What the user asked for, beyond the settings.

    ``gpus`` are target names or ids that override what files say; ``named`` is true when files were named by hand: one
    that does not look like AMDGPU assembly is then an error and not skipped. ``count_known`` counts every finding of
    a file, also one that its base version has.
    """

    gpus: tuple[str, ...] = ()
    rocm: str | None = None
    fail_on: Severity | None = "error"
    named: bool = False
    count_known: bool = False
    defines: tuple[tuple[str, int], ...] = ()
    assemble: bool = True
    """Also assemble each source file, when an assembler for its GPU is at hand."""
    watch: Callable[[KernelFacts], None] | None = None
    """Called with the facts of each reported kernel while they are at hand: the run is then not spread over processes
    and takes nothing from the cache."""
    draw: Callable[[KernelPicture], None] | None = None
    """Called with the picture of each reported kernel, in the order of the kernels; ``None``: none are drawn."""
    command: str = ""
    """The command line, for the reproduce line of reports."""
    constraints: Mapping[str, ConstraintFile] = msgspec.field(default_factory=dict)
    """The project's own constraint files by path, laid over the shipped ones in this order."""


class FileResult(msgspec.Struct, frozen=True):
    """What one changed file adds to the report."""

    findings: tuple[Finding, ...] = ()
    kernels: tuple[KernelReport, ...] = ()
    coverage: Coverage = Coverage()
    skipped: Unknown | None = None
    pictures: tuple[KernelPicture, ...] = ()
    repeatable: bool = True
    """False when an outer circumstance decided a part of it, such as an assembler that ran out of time."""


class SideFiles(Protocol):
    """Files of the repository at both sides, for ``.include``; a ``ChangeSet`` is one."""

    @property
    def root(self) -> Path:
        """The directory that paths are relative to."""

    def read(self, side: Side, path: str) -> bytes | None:
        """The bytes of a file, ``None`` where there is none."""


def check_change(change: Change, files: SideFiles, settings: Settings, request: Request) -> FileResult:
    """Check one file.

    Raises:
        GateError: the work could not be done (unreadable input, unknown GPU, exceeded limit ...).
    """
    if change.head is None:
        return FileResult()
    bases = _base_texts(change)
    parts = [
        _check_input(change, given, bases.get(given.gpu), files, settings, request)
        for given in input_texts(change.head)
    ]
    return _joined(parts)


def _base_texts(change: Change) -> dict[str, InputText]:
    """The texts at base by GPU (``""`` for assembly source). A base that cannot be read compares as a new file:
    head is then judged whole, which never hides a finding."""
    if change.base is None:
        return {}
    try:
        return {given.gpu: given for given in input_texts(change.base)}
    except GateError:
        return {}


def _check_input(
    change: Change,
    given: InputText,
    base: InputText | None,
    files: SideFiles,
    settings: Settings,
    request: Request,
) -> FileResult:
    configured = settings.for_path(change.path)
    reason = skip_reason(given.text, request.named or bool(request.gpus), configured)
    if reason:
        return FileResult(skipped=Unknown(change.path, 0, "", reason))
    asked = (target_id(given.target),) if given.target else request.gpus
    ways = configurations(change.path, given.text, asked, configured, dict(request.defines))
    parts = [_check_configuration(change, given, base, way, files, settings, request) for way in ways]
    lost = tuple(Unknown(change.path, 1, "", problem) for problem in given.problems)
    return _joined([*parts, FileResult(coverage=Coverage(unknown=lost))])


def _joined(parts: list[FileResult]) -> FileResult:
    return FileResult(
        tuple(_distinct(finding for part in parts for finding in part.findings)),
        tuple(kernel for part in parts for kernel in part.kernels),
        Coverage(
            sum(part.coverage.instructions for part in parts),
            sum(part.coverage.modelled for part in parts),
            tuple(unknown for part in parts for unknown in part.coverage.unknown),
        ),
        next((part.skipped for part in parts if part.skipped), None),
        tuple(picture for part in parts for picture in part.pictures),
        all(part.repeatable for part in parts),
    )


def _distinct(findings: Iterator[Finding]) -> Iterator[Finding]:
    """One finding where several variants of a file have the same."""
    seen: set[tuple[str, int]] = set()
    for finding in findings:
        key = (finding.fingerprint, finding.line)
        if key not in seen:
            seen.add(key)
            yield finding


def _check_configuration(
    change: Change,
    given: InputText,
    base_text: InputText | None,
    way: Configuration,
    files: SideFiles,
    settings: Settings,
    request: Request,
) -> FileResult:
    graph = constraint_graph(way.target, request)
    profiles = frozenset(settings.profiles)
    options = source_options("head", way, files)
    program = parsed_program(change.path, given.text, way.target, options, given.wave_size or way.wave_size)
    is_assembled = request.assemble and given.target is None and RULE not in settings.disabled
    # The assembler is another process: it works while this one does.
    with beside(lambda: assemble_source(program.source, way), is_assembled) as assembly:
        base = _checked_base(change, base_text, way, files, graph, profiles)
        head = check_program(program, base, partial(_is_enabled, settings.disabled), graph, profiles)
        assembled = assembly()
    severities = settings.severities
    found = findings_of(head, severities)
    # A base that cannot be read may have met a limit of time: what is then new is not to stay so.
    repeatable = base is not None or change.base is None
    if assembled is not None:
        repeatable &= not (isinstance(assembled, NotAssembled) and assembled.tool is not None)
        found += assembly_findings(program.source, way, assembled, found)
    found = tuple(finding for finding in found if finding.rule not in settings.disabled)
    findings = apply_suppressions(change.path, found, read_suppressions(given.text))
    if base is not None and not request.count_known:
        findings = mark_new(findings, (finding.fingerprint for finding in findings_of(base, severities)))
    reported = tuple(_reported(head))
    if request.watch is not None:
        for facts in reported:
            request.watch(facts)
    return FileResult(
        findings,
        tuple(_kernel_report(facts) for facts in reported),
        Coverage(head.instructions, head.modelled, head.unknown),
        pictures=tuple(kernel_picture(facts) for facts in reported) if request.draw is not None else (),
        repeatable=repeatable,
    )


def constraint_graph(target: Target, request: Request) -> ConstraintGraph:
    """The constraints that hold for a run: the shipped ones, and those of the project laid over them."""
    graph = graph_for(target, request.rocm or "")
    for path, project in request.constraints.items():
        graph = lay_over(graph, project, path)
    return graph


def _is_enabled(disabled: frozenset[str], rule: Rule) -> bool:
    return rule.id not in disabled


def _checked_base(
    change: Change,
    given: InputText | None,
    way: Configuration,
    files: SideFiles,
    graph: ConstraintGraph,
    profiles: frozenset[str],
) -> CheckedProgram | None:
    """The same file at base, in the same configuration; ``None`` when there is none that can be read."""
    if given is None:
        return None
    try:
        path = change.old_path or change.path
        options = source_options("base", way, files)
        return check_text(path, given.text, way.target, options, way.wave_size, None, None, graph, profiles)
    except GateError:
        return None


def source_options(side: Side, way: Configuration, files: SideFiles) -> SourceOptions:
    """How to read a file of one side in one configuration; includes come from the same side."""

    def read(included: str) -> str | None:
        data = files.read(side, included)
        return None if data is None else decode_source(included, data)

    return SourceOptions(
        defines=way.defines,
        predefined=predefined_symbols(way.target.name),
        include_paths=way.include,
        root=str(files.root),
        read=read,
    )


def _reported(head: CheckedProgram) -> Iterator[KernelFacts]:
    """The kernels of a file; every function of one without kernels."""
    only_kernels = bool(head.program.kernels)
    return (facts for facts in head.kernels if facts.kernel.is_kernel or not only_kernels)


def _kernel_report(facts: KernelFacts) -> KernelReport:
    """A kernel at head, with the same one at base beside it."""
    metrics = kernel_metrics(facts)
    base_metrics = kernel_metrics(facts.base) if facts.base is not None else None
    return KernelReport(
        name=facts.kernel.name,
        file=facts.program.path,
        gpu=facts.kernel.target.name,
        metrics=metrics,
        base=base_metrics,
        delta=metric_delta(metrics, base_metrics) if base_metrics is not None else None,
        blocks=tuple(block_reports(facts)),
    )
