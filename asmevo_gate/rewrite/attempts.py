"""Every proposal of one proposer for one region, each judged against the code as it is: to measure proposers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from asmevo_gate.analysis.liveness import live_registers
from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_slack import too_strong_waits
from asmevo_gate.analysis.regions import Region
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.program.model import Function, Program
from asmevo_gate.rewrite.acceptance import Acceptance, Chain, Judge, Rejection, candidate
from asmevo_gate.rewrite.edit_script import EditScript, text_edits
from asmevo_gate.rewrite.proposal import FunctionFacts, Proposal, Proposer, Refusal, RewriteOptions, Situation
from asmevo_gate.rewrite.rewriter import Hazards, waves_on_simd
from asmevo_gate.source.edits import apply_edits

MOST_ATTEMPTS = 64


@dataclass
class Bench:
    """One file on which proposers are measured."""

    program: Program
    judge: Judge
    hazards: Hazards
    constraints: ConstraintGraph
    options: RewriteOptions
    _chain: Chain = field(init=False)
    _facts: dict[str, FunctionFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        waves = {function.name: waves_on_simd(function, self.options) for function in self.program.functions}
        self._chain = Chain(self.program, self.judge, self.options, waves)

    def attempts(self, region: Region, proposer: Proposer) -> Iterator[Acceptance | Rejection]:
        """What comes of each proposal, up to and with the first that is accepted."""
        refused: dict[object, Rejection] = {}
        situation = self._situation(region, refused)
        for number, proposal in enumerate(proposer.propose(situation)):
            result = self.judged(region, proposal)
            yield result
            if isinstance(result, Acceptance) or number >= MOST_ATTEMPTS:
                return
            refused[result.candidate.key] = result

    def judged(self, region: Region, proposal: Proposal) -> Acceptance | Rejection:
        """What the chain says to one proposal."""
        made = candidate(self.program, region, proposal)
        if isinstance(made, Rejection):
            return made
        if not made.edits:
            return Rejection(made, "no_gain", "the edits change nothing")
        verdict = self._chain.run([made])
        return verdict.accepted[0] if verdict.accepted else verdict.rejected[0]

    def _situation(self, region: Region, refused: dict[object, Rejection]) -> Situation:
        def trial(script: EditScript) -> Function:
            text = self.program.source.text
            made = self.judge.parse(apply_edits(text, text_edits(region, script, text)))
            return next(one for one in made.functions if one.name == region.function.name)

        def refusal(script: EditScript) -> Refusal | None:
            made = candidate(self.program, region, Proposal(script, "", ""))
            found = made if isinstance(made, Rejection) else refused.get(made.key)
            return None if found is None else Refusal(found.class_, found.reason)

        return Situation(region, self._facts_of(region.function), self.options, trial, refusal)

    def _facts_of(self, function: Function) -> FunctionFacts:
        if function.name not in self._facts:
            pending = partial(pending_memory, function)
            self._facts[function.name] = FunctionFacts(
                function=function,
                liveness=live_registers(function),
                hazards=self.hazards,
                pending_of=pending,
                slack_of=lambda: too_strong_waits(pending()),
                waves=waves_on_simd(function, self.options),
                constraints=self.constraints,
            )
        return self._facts[function.name]
