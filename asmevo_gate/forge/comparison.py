"""What a CI job compares: the commit that is checked, the commit it is compared with, the commit that rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.changes.deepening import History
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.forge.job import Job


class Comparison(NamedTuple):
    """Commit ids. ``settings`` is the commit whose settings, baseline and constraint files hold: that of the target
    branch, so that a merge request cannot switch off the gate that judges it. ``parents`` are those of ``head``."""

    base: str
    head: str
    settings: str
    parents: tuple[str, ...]

    def is_about(self, commit: str) -> bool:
        """Whether ``commit`` was checked: it is head, or head is a merge of it that the CI system made."""
        return commit == self.head or commit in self.parents


def checked_commit(here: Path, head: str | None, say: Callable[[str], None]) -> Comparison:
    """The commit to check, compared with nothing yet.

    Raises:
        GateError: there is no repository, or no such commit.
    """
    history = History(here, say)
    commit = history.commit(head or "HEAD", "head")
    return Comparison(commit, commit, commit, history.parents(commit))


def find_comparison(
    here: Path, job: Job | None, base: str | None, head: str | None, say: Callable[[str], None]
) -> Comparison:
    """The commits of the job, or those that the user names; what the clone lacks is fetched (``say`` hears it).

    Raises:
        UsageError: there is neither a CI job nor a base.
        GateError: a commit or the merge base is neither in the clone nor can it be fetched.
    """
    checked = checked_commit(here, head, say)
    head_commit, parents = checked.head, checked.parents
    history = History(here, say)
    if base is not None:
        tip = history.commit(base, "base")
        return Comparison(history.deepen_to_merge_base(tip, head_commit), head_commit, tip, parents)
    if job is None:
        raise UsageError(
            "this is no CI job of GitLab, GitHub or Jenkins",
            "name what to compare with: asmevo-gate ci --base main; on a developer's machine: asmevo-gate check",
        )
    if head is None:
        _require_checkout(job, head_commit, parents)
    if job.base is not None:
        start = history.commit(job.base, "base")
        return Comparison(start, head_commit, _settings(job, history, start, head_commit, say), parents)
    assert job.target is not None  # a Job has the one or the other
    tip = history.branch_tip(job.target)
    return Comparison(history.deepen_to_merge_base(tip, head_commit), head_commit, tip, parents)


def _settings(job: Job, history: History, start: str, head: str, say: Callable[[str], None]) -> str:
    if job.settings_at_head:
        return head
    if job.target is None:
        return start
    try:
        return history.branch_tip(job.target)
    except GateError as error:
        say(f"{error.message}; the settings are read from the base commit {start[:12]}")
        return start


def _require_checkout(job: Job, head: str, parents: tuple[str, ...]) -> None:
    """A GitHub workflow may check out anything (``pull_request_target`` checks out the target branch): a comparison of
    the target branch with itself would pass."""
    wanted = job.request.head if job.system == "github" and job.request else None
    if wanted is not None and wanted != head and wanted not in parents:
        raise GateError(
            f"the commit that is checked out ({head[:12]}) is not the pull request's ({wanted[:12]})",
            "use the event pull_request with actions/checkout, or name the commit with --head",
        )
