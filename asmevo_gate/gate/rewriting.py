"""Rewrites of changed files: every proposal judged by the whole gate, and the accepted ones as texts and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from asmevo_gate.analysis.regions import Region
from asmevo_gate.changes.model import Change, ChangeSet
from asmevo_gate.changes.patch_series import Patch
from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.errors import GateError
from asmevo_gate.gate.compile_check import assemble_source
from asmevo_gate.gate.file_check import check_program, parsed_program
from asmevo_gate.gate.repairs import unified_diff
from asmevo_gate.gate.result import Rewrite, Unknown
from asmevo_gate.gate.run import Request, constraint_graph, source_options
from asmevo_gate.gate.settings import Settings
from asmevo_gate.gate.target_choice import Configuration, configurations, skip_reason
from asmevo_gate.program.file_kind import is_code_object
from asmevo_gate.program.model import Program
from asmevo_gate.rewrite.acceptance import Acceptance, Rejection
from asmevo_gate.rewrite.proposal import Proposer, RewriteOptions
from asmevo_gate.rewrite.registers import possible_vgprs
from asmevo_gate.rewrite.rewriter import Rewriter, Rewritten
from asmevo_gate.source.edits import TextEdit, apply_edits
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.recognise import decode_source
from asmevo_gate.verify.assembler import Assembled, AssemblyErrors

LEVELS = {"static": "static (constraints and proof)", "compile": "compile (static, and it assembles)"}


_MOST_RUNS = 8
_FOLLOWS = frozenset(("perf.over_allocation",))
"""Findings that say that a descriptor may now ask for less: the purpose of a rewrite, and its advice."""


@dataclass(frozen=True)
class FileRewrite:
    """One file: its text before and after, and what was accepted and rejected."""

    path: str
    before: str
    after: str
    rewrites: tuple[Rewrite, ...]
    runs: tuple[Rewritten, ...] = ()
    """Each run is over the text that came out of the one before."""

    advice: tuple[str, ...] = ()
    """What the kernel descriptors may ask for now; no rewrite touches them."""

    @property
    def patch(self) -> str:
        """All accepted rewrites as one unified diff; empty when there are none."""
        return unified_diff(self.path, self.before, self.after) if self.after != self.before else ""


@dataclass
class GateJudge:
    """What the chain of acceptance asks: the parser, all rules and the assembler, for one file in one configuration."""

    path: str
    way: Configuration
    options: SourceOptions
    graph: ConstraintGraph
    profiles: frozenset[str]
    assemble: bool = True

    def parse(self, text: str) -> Program:
        """The program of a text."""
        return parsed_program(self.path, text, self.way.target, self.options, self.way.wave_size)

    def findings(self, program: Program) -> Counter[tuple[str, str, str]]:
        """Every violation of a rule but for mere advice, and everything that is not understood."""
        checked = check_program(program, constraints=self.graph, profiles=self.profiles)
        found: Counter[tuple[str, str, str]] = Counter()
        for one in checked.violations:
            violation = one.violation
            severity = violation.severity or one.rule.severity
            if severity == "info" or (violation.rule or one.rule.id) in _FOLLOWS:
                continue  # advice on what could be shorter is no fault of a rewrite
            found[violation.rule or one.rule.id, one.kernel, violation.context or violation.message] += 1
        for unknown in checked.unknown:
            found["not checked", "", f"{unknown.reason}: {unknown.text}"] += 1
        for facts in checked.kernels:
            for index, reason in facts.pending.not_modelled:
                text = facts.kernel.instructions[index].statement.text
                found["not checked", facts.kernel.name, f"{reason}: {text}"] += 1
        return found

    def assembles(self, program: Program) -> str | None:
        """The assembler's answer."""
        if not self.assemble:
            return None
        result = assemble_source(program.source, self.way)
        if isinstance(result, Assembled):
            return ""
        if isinstance(result, AssemblyErrors):
            if result.newer or all(message.limit_of_tool for message in result.messages):
                return None  # the assembler is too old for the file: it cannot say anything
            first = result.messages[0]
            return f"line {first.line}: {first.text}"
        return None


def rewrite_changes(
    changes: ChangeSet,
    settings: Settings,
    request: Request,
    options: RewriteOptions,
    proposers: Sequence[Proposer],
) -> tuple[tuple[FileRewrite, ...], tuple[Unknown, ...]]:
    """Rewrite every changed file at head; and the files that were left out, with the reason.

    Raises:
        GateError: a file cannot be read, or nothing says which GPU it is for.
    """
    done: list[FileRewrite] = []
    skipped = [Unknown(path, 0, "", reason) for path, reason in changes.skipped]
    for change in changes.changes:
        if change.head is None:
            continue
        if is_code_object(change.head.data):
            skipped.append(Unknown(change.path, 0, "", "a code object has no source text to rewrite"))
            continue
        text = decode_source(change.path, change.head.data)
        asked = request.named or bool(request.gpus)
        reason = skip_reason(text, asked, settings.for_path(change.path))
        if reason:
            skipped.append(Unknown(change.path, 0, "", reason))
            continue
        if text.encode("utf-8") != change.head.data:
            skipped.append(Unknown(change.path, 0, "", "it is not plain UTF-8 text, which could not be written back"))
            continue
        done.append(_file(change, text, changes, settings, request, options, proposers))
    return tuple(done), tuple(skipped)


def _file(
    change: Change,
    text: str,
    changes: ChangeSet,
    settings: Settings,
    request: Request,
    options: RewriteOptions,
    proposers: Sequence[Proposer],
) -> FileRewrite:
    ways = configurations(change.path, text, request.gpus, settings.for_path(change.path), dict(request.defines))
    if len(ways) > 1:
        names = ", ".join(way.target.name for way in ways)
        reason = f"the file is built in {len(ways)} ways ({names}); a rewrite would have to be proved for all of them"
        return FileRewrite(change.path, text, text, (_refused(change.path, reason),))
    judge = GateJudge(
        change.path,
        ways[0],
        source_options("head", ways[0], changes),
        constraint_graph(ways[0].target, request),
        frozenset(settings.profiles),
        request.assemble,
    )
    return rewrite_text(change.path, text, judge, options, proposers)


def rewrite_text(
    path: str, text: str, judge: GateJudge, options: RewriteOptions, proposers: Sequence[Proposer]
) -> FileRewrite:
    """Rewrite one text in one configuration.

    Raises:
        GateError: the text cannot be read as assembly.
    """
    program = judge.parse(text)
    if program.source.text != text:
        raise GateError("the text was changed while it was read", "report this; nothing was rewritten", path)
    hazards = partial(hazard_violations, graph=judge.graph, profiles=judge.profiles)
    runs: list[Rewritten] = []
    rewrites: list[Rewrite] = []
    while not runs or (runs[-1].again and not runs[-1].out_of_time and len(runs) < _MOST_RUNS):
        result = Rewriter(program, judge, hazards, proposers, options, judge.graph).run()
        runs.append(result)
        before = program.source.text
        rewrites += [_accepted(path, before, one, suggest=len(runs) == 1 and one.alone) for one in result.accepted]
        program = judge.parse(result.text)
    rewrites += [_rejected(one) for one in runs[-1].rejected]
    advice = list(_advice(program))
    if runs[-1].out_of_time:
        advice.append(f"stopped after {options.seconds:g} seconds: another run may find more")
    return FileRewrite(path, text, runs[-1].text, tuple(rewrites), tuple(runs), tuple(advice))


def _advice(program: Program) -> Iterator[str]:
    for kernel in program.kernels:
        found = possible_vgprs(kernel)
        if found is not None:
            used, declared, waves = found
            yield (
                f"{kernel.name} names {used} VGPRs and asks for {declared}: .amdhsa_next_free_vgpr {used} would let"
                f" {waves} waves fit on a SIMD"
            )


def patches_of(one: FileRewrite) -> Iterator[Patch]:
    """The accepted rewrites of a file as patches, each on top of the ones before it."""
    for run in one.runs:
        edits: list[TextEdit] = []
        text = before = run.program.source.text
        for acceptance in run.accepted:
            edits += acceptance.candidate.edits
            after = apply_edits(text, edits)
            rewrite = _accepted(one.path, text, acceptance)
            title = f"{one.path}: {acceptance.candidate.proposals[0].title}"
            where = f"{rewrite.kernel}, {rewrite.region}: {rewrite.reason}."
            numbers = "".join(f"{name}: {value:g}\n" for name, value in rewrite.metrics.items())
            message = f"{_short(title)}\n\n{where}\n\n{rewrite.proof}.\n\n{numbers}"
            yield Patch(unified_diff(one.path, before, after), message)
            before = after


def _short(title: str) -> str:
    return title if len(title) <= 72 else f"{title[:69]}..."


def _accepted(path: str, text: str, one: Acceptance, suggest: bool = True) -> Rewrite:
    candidate = one.candidate
    return Rewrite(
        kernel=candidate.region.function.name,
        region=region_name(one.candidate.region),
        state="accepted",
        class_=", ".join(dict.fromkeys(proposal.proposer for proposal in candidate.proposals)),
        reason=candidate.title,
        proof=f"proved for {one.proof.registers} live registers"
        + (f", {one.proof.solved} of them by the solver" if one.proof.solved else "")
        + f"; verified: {LEVELS[one.level]}",
        metrics=one.metrics,
        patch=unified_diff(path, text, apply_edits(text, candidate.edits)) if suggest else "",
    )


def _rejected(one: Rejection) -> Rewrite:
    region = one.candidate.region
    return Rewrite(
        kernel=region.function.name,
        region=region_name(region),
        state="rejected",
        class_=one.class_,
        reason=f"{one.candidate.title}: {one.reason}",
        proof="",
        metrics={},
        patch="",
    )


def _refused(path: str, reason: str) -> Rewrite:
    return Rewrite("", path, "rejected", "scope", reason, "", {}, "")


def region_name(region: Region) -> str:
    """The block and the lines of a region, as reports name it."""
    block = region.function.blocks[region.block]
    first, last = region.instructions[0].statement.place.line, region.instructions[-1].statement.place.line
    return f"{block.label or f'block {block.number}'}, lines {first}-{last}"
