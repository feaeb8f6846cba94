"""The proposers that need no model, in the order in which they are asked."""

from __future__ import annotations

from asmevo_gate.rewrite.peephole import Peephole
from asmevo_gate.rewrite.proposal import Proposer, RewriteOptions
from asmevo_gate.rewrite.schedule import Scheduler
from asmevo_gate.rewrite.waits import WeakestWaits


def deterministic_proposers(options: RewriteOptions) -> tuple[Proposer, ...]:
    """Fewer instructions first, then weaker waits, then another order."""
    return (Peephole(), WeakestWaits(), Scheduler())
