"""How good a proposer is on a set of regions: what it says, what the chain of acceptance passes, what that gains."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from asmevo_gate.analysis.regions import Region
from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.region_set import SetKernel, counted_regions
from asmevo_gate.gate.rewriting import GateJudge
from asmevo_gate.gate.target_choice import Configuration, named_target
from asmevo_gate.rewrite.acceptance import Acceptance
from asmevo_gate.rewrite.attempts import Bench
from asmevo_gate.rewrite.model_proposer import ModelProposer
from asmevo_gate.rewrite.proposal import Proposer, RewriteOptions
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols

GAIN_PERCENT = 3.0
"""Fewer estimated cycles of the region, from which on a block counts as improved."""
_BREAKS = ("scope", "parse", "constraint")


@dataclass
class Score:
    """What a proposer did.

    ``answers`` and what they were (``unread``: outside its language; ``empty``: nothing to propose; ``repeated``) are
    known of a model only. ``proposals`` were judged; ``rejected`` counts those that failed, by class. ``compliant``
    broke no constraint. ``accepted`` and ``improved`` count blocks. ``seconds``: wall time with the judging;
    ``asking``: without; ``processor``: processor time of the model's process, with loading.
    """

    blocks: int = 0
    answers: int = 0
    unread: int = 0
    empty: int = 0
    repeated: int = 0
    proposals: int = 0
    compliant: int = 0
    accepted: int = 0
    improved: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    asking: float = 0.0
    processor: float = 0.0
    peak_bytes: int = 0

    @property
    def valid_percent(self) -> float:
        """Answers that could be read and fit their block."""
        return _percent(self.answers - self.unread - self.rejected["scope"], self.answers)

    @property
    def compliant_percent(self) -> float:
        """Proposals that broke no constraint."""
        return _percent(self.compliant, self.proposals)

    @property
    def accepted_percent(self) -> float:
        """Blocks with an accepted proposal."""
        return _percent(self.accepted, self.blocks)

    @property
    def improved_percent(self) -> float:
        """Blocks that got faster by more than :data:`GAIN_PERCENT`."""
        return _percent(self.improved, self.blocks)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


@dataclass(frozen=True)
class Place:
    """One region of the set, with the file in which it is judged."""

    kernel: SetKernel
    bench: Bench
    region: Region


def places(kernels: Sequence[SetKernel], options: RewriteOptions, most: int) -> list[Place]:
    """``most`` regions spread evenly over the set (0: all).

    Raises:
        UsageError: a kernel names no GPU.
        GateError: a kernel cannot be read.
    """
    found = [place for kernel in kernels for place in _places(kernel, options)]
    if not most or most >= len(found):
        return found
    return [found[at * len(found) // most] for at in range(most)]


def _places(kernel: SetKernel, options: RewriteOptions) -> Iterator[Place]:
    target = named_target(kernel.name, kernel.text)
    if target is None:
        raise UsageError(f"{kernel.name} names no GPU", "give it an .amdgcn_target line")
    source = SourceOptions(predefined=predefined_symbols(target.name))
    graph = graph_for(target)
    judge = GateJudge("kernel.s", Configuration(target, {}, (), None), source, graph, frozenset())
    program = judge.parse(kernel.text)
    bench = Bench(program, judge, partial(hazard_violations, graph=graph), graph, options)
    for region in counted_regions(program):
        yield Place(kernel, bench, region)


def measure(proposers: Sequence[Proposer], blocks: Sequence[Place], progress: Callable[[int], None]) -> Score:
    """Ask the proposers, one after the other, about every block. ``progress`` gets the number of blocks done.

    A model is taken as it is when it has answered: close it afterwards. Measuring ends when it cannot be used.
    """
    score = Score()
    models = [one for one in proposers if isinstance(one, ModelProposer)]
    start = time.monotonic()
    for place in blocks:
        if any(model.failure is not None for model in models):
            break
        _measure_block(proposers, place, score)
        score.blocks += 1
        progress(score.blocks)
    score.seconds = time.monotonic() - start
    for model in models:
        counts = model.counts
        score.answers += counts["answers"]
        score.unread += counts["unread"]
        score.empty += counts["empty"]
        score.repeated += counts["repeated"]
        score.asking += model.asking_seconds
        usage = model.model.usage()
        score.peak_bytes = max(score.peak_bytes, usage.peak_bytes)
        score.processor += usage.processor_seconds
    return score


def _measure_block(proposers: Sequence[Proposer], place: Place, score: Score) -> None:
    for proposer in proposers:
        for result in place.bench.attempts(place.region, proposer):
            score.proposals += 1
            if isinstance(result, Acceptance):
                score.compliant += 1
                score.accepted += 1
                score.improved += result.metrics["gain_percent"] > GAIN_PERCENT
                return
            score.rejected[result.class_] += 1
            score.compliant += result.class_ not in _BREAKS
