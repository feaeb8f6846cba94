"""What a proposer sees of a region, and what it gives back. Nothing that a proposer says is trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from asmevo_gate.analysis.liveness import Liveness
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_slack import Slack
from asmevo_gate.analysis.regions import Region
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.cost.timing import Timing, timing_for
from asmevo_gate.isa.decoder import Isa, isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Function
from asmevo_gate.rewrite.edit_script import EditScript


@dataclass(frozen=True)
class RewriteOptions:
    """``mac_merge``: a multiplication and an addition may become one instruction, where that is exact.
    ``waves``: waves on each SIMD that the cost is judged for besides one; ``None`` for the kernel's occupancy.
    ``solver_milliseconds``: time for the solver for each register that the normal form leaves open."""

    mac_merge: bool = True
    waves: int | None = None
    solver_milliseconds: int = 1000
    seconds: float | None = None
    """Time after which no more proposals are asked for; what is accepted by then is still judged as a whole."""


class Refusal(NamedTuple):
    """Why a proposal was rejected: the class of the rejection, and the reason in words."""

    class_: str
    reason: str


@dataclass(frozen=True)
class Proposal:
    """A script for one region; ``title`` says in words what it does."""

    script: EditScript
    proposer: str
    title: str


@dataclass(frozen=True)
class FunctionFacts:
    """Analyses of the function that a region stands in. ``constraints`` is the graph that the hazards come from."""

    function: Function
    liveness: Liveness
    hazards: Callable[[Function], list[HazardViolation]]
    pending_of: Callable[[], PendingMemory]
    slack_of: Callable[[], tuple[Slack, ...]]
    waves: int
    constraints: ConstraintGraph | None = None

    @cached_property
    def pending(self) -> PendingMemory:
        """Memory operations in flight before each instruction."""
        return self.pending_of()

    @cached_property
    def too_strong(self) -> tuple[Slack, ...]:
        """Waits that are stronger than needed."""
        return self.slack_of()

    @cached_property
    def known_hazards(self) -> list[HazardViolation]:
        """What the function violates as it is."""
        return self.hazards(self.function)


@dataclass(frozen=True)
class Situation:
    """One region with what is known around it. ``trial`` gives the function with a script made; ``refusal`` says why a
    script was rejected before, and ``None`` for one that was not."""

    region: Region
    facts: FunctionFacts
    options: RewriteOptions
    trial: Callable[[EditScript], Function]
    refusal: Callable[[EditScript], Refusal | None]
    decoded: tuple[Decoded, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = tuple(one.decoded for one in self.region.instructions if one.decoded is not None)
        assert len(found) == self.region.end - self.region.first, "a region holds understood instructions only"
        object.__setattr__(self, "decoded", found)

    @property
    def live_after(self) -> tuple[int, ...]:
        """Registers that are live behind each instruction of the region."""
        extra = self.region.live_out & ~self.facts.liveness.after[self.region.end - 1]
        return tuple(live | extra for live in self.facts.liveness.after[self.region.first : self.region.end])

    @property
    def isa(self) -> Isa:
        """The decoder of the region's target."""
        return isa_for(self.region.function.target, self.region.function.wave_size)

    @property
    def timing(self) -> Timing:
        """The timing of the region's target."""
        return timing_for(self.region.function.target.name, self.region.function.wave_size)


class Proposer(Protocol):
    """Anything that suggests edits of a region: the ones in this folder, or a language model."""

    name: str

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """Scripts for the region, the best first."""
