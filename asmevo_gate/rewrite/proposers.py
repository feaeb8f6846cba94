"""The proposers, in the order in which they are asked."""

from __future__ import annotations

from asmevo_gate.rewrite.dual_issue import DualIssue
from asmevo_gate.rewrite.fuse import Fuse
from asmevo_gate.rewrite.peephole import Peephole
from asmevo_gate.rewrite.proposal import Proposer, RewriteOptions
from asmevo_gate.rewrite.registers import Registers
from asmevo_gate.rewrite.schedule import Scheduler
from asmevo_gate.rewrite.waits import WeakestWaits


def deterministic_proposers(options: RewriteOptions) -> tuple[Proposer, ...]:
    """Those that need no model: fewer instructions first, then weaker waits, then another order."""
    return (Peephole(), Fuse(), WeakestWaits(), DualIssue(), Scheduler(), Registers())
