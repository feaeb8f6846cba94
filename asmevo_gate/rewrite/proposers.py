"""The proposers that need no model, in the order in which they are asked."""

from __future__ import annotations

from pathlib import Path

from asmevo_gate.errors import UsageError
from asmevo_gate.rewrite.dual_issue import DualIssue
from asmevo_gate.rewrite.fuse import Fuse
from asmevo_gate.rewrite.model_files import model_file
from asmevo_gate.rewrite.peephole import Peephole
from asmevo_gate.rewrite.proposal import Proposer, RewriteOptions
from asmevo_gate.rewrite.registers import Registers
from asmevo_gate.rewrite.schedule import Scheduler
from asmevo_gate.rewrite.waits import WeakestWaits


def deterministic_proposers(options: RewriteOptions) -> tuple[Proposer, ...]:
    """Fewer instructions first, then weaker waits, then another order."""
    return (Peephole(), Fuse(), WeakestWaits(), DualIssue(), Scheduler(), Registers())


def model_proposer(path: Path, template: str | None) -> Proposer:
    """A language model as a proposer.

    Raises:
        UsageError: the path is no model that can be loaded, or this installation cannot load models.
    """
    found = model_file(path)
    del template
    raise UsageError(
        f"this version cannot run {found.name}: it has no language-model proposer",
        "leave out --model-path; the deterministic proposers need no model",
    )
