"""Rewrites of one file: proposals for every region, round after round, until nothing more is accepted.

What comes out does not depend on the way there: each changed region is judged once more as a whole against the file
as it was. A change that needs another one (the last reader of a result is gone, so its writer may go) has to wait for
the next run over the text with that other one made; :attr:`Rewritten.again` asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from asmevo_gate.analysis.liveness import live_registers
from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_slack import too_strong_waits
from asmevo_gate.analysis.regions import Excluded, Region
from asmevo_gate.analysis.resources import kernel_resources
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.program.model import Function, Program
from asmevo_gate.rewrite.acceptance import Acceptance, Candidate, Chain, Judge, Rejection, candidate
from asmevo_gate.rewrite.edit_script import EditScript, line_of, text_edits
from asmevo_gate.rewrite.proposal import FunctionFacts, Proposal, Proposer, Refusal, RewriteOptions, Situation
from asmevo_gate.rewrite.scope import editable_regions
from asmevo_gate.source.edits import TextEdit, apply_edits

MOST_ROUNDS = 400
"""Rounds after which a file is taken as it is; each of them accepts or rejects something."""

MOST_ALONE = 64
"""Accepted rewrites of one file up to which each is also tried without the others."""

Hazards = Callable[[Function], list[HazardViolation]]


@dataclass(frozen=True)
class Rewritten:
    """What came of one file. ``accepted`` are changes of single regions against the file as it was; ``text`` has them
    all. ``rejected`` are proposals for the text as it is now. ``excluded``: instructions that no rewrite may touch."""

    program: Program
    text: str
    accepted: tuple[Acceptance, ...]
    rejected: tuple[Rejection, ...]
    excluded: tuple[Excluded, ...]
    regions: int
    again: bool
    """A run over ``text`` may find more."""
    out_of_time: bool = False


@dataclass
class _Span:
    """The lines of a region: in the file as it was, and in the current text."""

    region: Region
    start: int
    end: int
    now: tuple[int, int] = (0, 0)
    made: list[Proposal] = field(default_factory=list)


class Rewriter:
    """Rewrites of one program; proposers are asked in the order given."""

    def __init__(
        self,
        program: Program,
        judge: Judge,
        hazards: Hazards,
        proposers: Sequence[Proposer],
        options: RewriteOptions,
        constraints: ConstraintGraph | None = None,
    ) -> None:
        self._original = program
        self._judge = judge
        self._hazards = hazards
        self._proposers = proposers
        self._options = options
        self._constraints = constraints
        self._waves = {function.name: waves_on_simd(function, options) for function in program.functions}
        self._tried: dict[object, Rejection | None] = {}
        self._end = time.monotonic() + options.seconds if options.seconds is not None else None

    def run(self) -> Rewritten:
        """Rewrite the file.

        Raises:
            GateError: the file cannot be analysed.
        """
        spans, excluded = self._spans()
        program = self._original
        chain = self._chain(program)
        for _ in range(MOST_ROUNDS):
            candidates = list(self._candidates(program, spans))
            if not candidates or self._out_of_time():
                break
            verdict = chain.run(candidates)
            if not verdict.accepted and not verdict.rejected:
                # Each stands alone, but not beside the others: one at a time.
                verdict = chain.run(candidates[:1])
            for rejection in verdict.rejected:
                self._tried[rejection.candidate.key] = rejection
            if verdict.accepted:
                # What was rejected may pass beside other code, and the result must be one that a second run keeps.
                self._tried.clear()
                program = verdict.program
                chain = self._chain(program)
                self._carry(spans, [one.candidate for one in verdict.accepted])
        accepted, text = self._final(spans, program)
        rejected = tuple(one for one in self._tried.values() if one is not None)
        again = bool(accepted) and text != program.source.text
        return Rewritten(
            self._original, text, accepted, rejected, tuple(excluded), len(spans), again, self._out_of_time()
        )

    def _out_of_time(self) -> bool:
        return self._end is not None and time.monotonic() > self._end

    def _chain(self, program: Program) -> Chain:
        return Chain(program, self._judge, self._options, self._waves)

    def _spans(self) -> tuple[list[_Span], list[Excluded]]:
        spans: list[_Span] = []
        excluded: list[Excluded] = []
        text = self._original.source.text
        for function in self._original.functions:
            scope = editable_regions(self._original, function, live_registers(function))
            excluded += scope.excluded
            for region in scope.regions:
                start, end = _lines(text, region)
                spans.append(_Span(region, start, end, (start, end)))
        return spans, excluded

    def _candidates(self, program: Program, spans: list[_Span]) -> Iterator[Candidate]:
        """The first proposal for each region that was not tried yet."""
        for function in program.functions:
            facts = self._facts(function)
            for region in editable_regions(program, function, facts.liveness).regions:
                if self._out_of_time():
                    return
                if _span_of(spans, _lines(program.source.text, region)) is None:
                    continue
                found = self._first_untried(program, region, facts)
                if found is not None:
                    yield found

    def _first_untried(self, program: Program, region: Region, facts: FunctionFacts) -> Candidate | None:
        def trial(script: EditScript) -> Function:
            edited = apply_edits(program.source.text, text_edits(region, script, program.source.text))
            made = self._judge.parse(edited)
            return next(one for one in made.functions if one.name == region.function.name)

        def refusal(script: EditScript) -> Refusal | None:
            made = candidate(program, region, Proposal(script, "", ""))
            found = made if isinstance(made, Rejection) else self._tried.get(made.key)
            return None if found is None else Refusal(found.class_, found.reason)

        exhausted = ("exhausted", region.function.name, region.first, _texts(region), region.live_out)
        if exhausted in self._tried:
            return None
        situation = Situation(region, facts, self._options, trial, refusal)
        for proposer in self._proposers:
            for proposal in proposer.propose(situation):
                made = candidate(program, region, proposal)
                if isinstance(made, Rejection):
                    self._tried[made.candidate.key, proposal] = made
                elif made.key not in self._tried and made.edits:
                    return made
        self._tried[exhausted] = None
        return None

    def _facts(self, function: Function) -> FunctionFacts:
        return FunctionFacts(
            function=function,
            liveness=live_registers(function),
            hazards=self._hazards,
            pending_of=lambda: pending_memory(function),
            slack_of=lambda: too_strong_waits(pending_memory(function)),
            waves=self._waves[function.name],
            constraints=self._constraints,
        )

    @staticmethod
    def _carry(spans: list[_Span], accepted: list[Candidate]) -> None:
        """Note the accepted changes, and where the lines of each region are now."""
        shifts: list[tuple[int, int]] = []
        for one in accepted:
            source = one.edits
            place = one.region.instructions[0].statement.place.start
            span = next(span for span in spans if span.now[0] <= place < span.now[1])
            span.made += one.proposals
            grown = sum(len(edit.replacement) - (edit.end - edit.start) for edit in source)
            shifts.append((span.now[0], grown))
        for span in spans:
            start, end = span.now
            before = sum(grown for at, grown in shifts if at < start)
            own = sum(grown for at, grown in shifts if at == start)
            span.now = (start + before, end + before + own)

    def _final(self, spans: list[_Span], program: Program) -> tuple[tuple[Acceptance, ...], str]:
        """Judge each changed region as one change of the file as it was."""
        original, text = self._original.source.text, program.source.text
        changed = [span for span in spans if text[slice(*span.now)] != original[span.start : span.end]]
        if not changed:
            return (), original
        chain = self._chain(self._original)
        verdict = chain.run([self._whole(span, text, program) for span in changed])
        for rejection in verdict.rejected:
            self._tried[rejection.candidate.key] = rejection
        ask = len(verdict.accepted) <= MOST_ALONE
        accepted = tuple(
            replace(one, alone=len(verdict.accepted) == 1 or (ask and chain.stands_alone(one.candidate)))
            for one in verdict.accepted
        )
        return accepted, verdict.program.source.text

    def _whole(self, span: _Span, text: str, program: Program) -> Candidate:
        """All changes of one region as one candidate for the original file."""
        start, end = span.now
        function = next(one for one in program.functions if one.name == span.region.function.name)
        texts = tuple(
            one.statement.text
            for one in function.instructions
            if not one.statement.frames and start <= one.statement.place.start < end
        )
        edits = _line_edits(self._original.source.text[span.start : span.end], text[start:end], span.start)
        proposals = tuple(dict.fromkeys(span.made))
        return Candidate(span.region, proposals, edits, texts)


def _line_edits(old: str, new: str, offset: int) -> tuple[TextEdit, ...]:
    """The change of some lines as the edits of the lines that differ."""
    from difflib import SequenceMatcher

    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    places = [offset]
    for line in before:
        places.append(places[-1] + len(line))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        TextEdit(places[i1], places[i2], "".join(after[j1:j2]))
        for kind, i1, i2, j1, j2 in matcher.get_opcodes()
        if kind != "equal"
    )


def _lines(text: str, region: Region) -> tuple[int, int]:
    first, last = region.instructions[0].statement.place, region.instructions[-1].statement.place
    return line_of(text, first.start, first.end)[0], line_of(text, last.start, last.end)[1]


def _span_of(spans: Iterable[_Span], lines: tuple[int, int]) -> _Span | None:
    return next((span for span in spans if span.now[0] <= lines[0] and lines[1] <= span.now[1]), None)


def _texts(region: Region) -> tuple[str, ...]:
    return tuple(one.statement.text for one in region.instructions)


def waves_on_simd(function: Function, options: RewriteOptions) -> int:
    """Waves on each SIMD that the cost of a function is judged for besides one."""
    if options.waves is not None:
        return options.waves
    return kernel_resources(function).occupancy_waves_per_simd or 1
