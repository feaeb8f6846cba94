"""What a branch changes: a commit against the point where it left its base."""

from __future__ import annotations

from pathlib import Path

from asmevo_gate.changes.comparison import Comparison
from asmevo_gate.changes.model import ChangeSet, Selection
from asmevo_gate.changes.repository import Repository

_SHORT = 12


def range_changes(
    cwd: Path,
    base: str,
    head: str | None = None,
    selection: Selection | None = None,
    *,
    merge_base: bool = True,
) -> ChangeSet:
    """The assembly files that differ between ``head`` (``HEAD`` when not given) and its merge base with
    ``base``.

    With ``merge_base=False`` the comparison is with ``base`` itself, which needs no history between the two.

    Raises:
        GateError: a revision or the merge base is not in this clone (the message says what to fetch), or an
        object
            cannot be read.
        UsageError: a revision is no revision.
        LimitError: a file is too large.
    """
    repository = Repository(cwd)
    head_name = head or "HEAD"
    base_commit = repository.commit(base, "base")
    head_commit = repository.commit(head_name, "head")
    start, base_name = base_commit, f"{base} ({base_commit[:_SHORT]})"
    if merge_base:
        start = repository.merge_base(base_commit, head_commit, (base, head_name))
        if start != base_commit:
            base_name = f"merge base of {base} and {head_name} ({start[:_SHORT]})"
    comparison = Comparison(repository, selection or Selection(), start, head_commit)
    return comparison.change_set(base_name, f"{head_name} ({head_commit[:_SHORT]})")
