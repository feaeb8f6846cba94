"""What a commit that is being made changes, and everything that it holds: the index against HEAD."""

from __future__ import annotations

from pathlib import Path

from asmevo_gate.changes.comparison import IGNORED_REASON, Affected, Comparison, build_change
from asmevo_gate.changes.limits import Budget
from asmevo_gate.changes.model import Change, ChangeSet, Selection, Skipped
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.changes.repository import Repository
from asmevo_gate.changes.sides import SUBMODULE, Listing

INDEX_NAME = "index"


def staged_changes(cwd: Path, selection: Selection | None = None) -> ChangeSet:
    """The staged assembly files, and those that include a staged file.

    Content is what git will store (the blobs, after line ending and filter conversion), never the work
    tree. Before the first commit everything is new. While a merge is committed, what it takes over from a
    parent as it is, is left out. ``git commit --amend`` cannot be seen from a hook: then only the
    difference to the amended commit is.

    Raises:
        GateError: there is no repository, a file has an unresolved conflict, or an object cannot be read.
        LimitError: a file is too large.
    """
    repository = Repository(cwd)
    comparison, base_name = _against_head(repository, selection or Selection())
    return comparison.change_set(base_name, INDEX_NAME, merged=repository.merged_commits())


def tracked_files(cwd: Path, selection: Selection | None = None) -> ChangeSet:
    """Every assembly file in the index, with its version in HEAD as base.

    Raises:
        GateError: there is no repository, or an object cannot be read.
        LimitError: a file is too large.
    """
    selection = selection or Selection()
    repository = Repository(cwd)
    comparison, base_name = _against_head(repository, selection)
    assembly, ignore = patterns(selection.assembly), patterns(selection.ignore)
    base = Listing(repository, comparison.objects, comparison.base)
    changes: list[Change] = []
    skipped: list[Skipped] = []
    budget = Budget(selection.max_total_bytes)
    try:
        for path, entry in comparison.head_listing.entries().items():
            if not assembly.matches(path) or entry.mode == SUBMODULE:
                continue
            if ignore.matches(path):
                skipped.append(Skipped(path, IGNORED_REASON))
                continue
            built = build_change(comparison.objects, Affected(path, None, base.entries().get(path), entry))
            if isinstance(built, Skipped):
                skipped.append(built)
            else:
                budget.spend(built)
                changes.append(built)
    finally:
        comparison.objects.close()
    return ChangeSet(
        tuple(changes),
        tuple(skipped),
        base_name,
        INDEX_NAME,
        repository.root,
        base.read,
        comparison.head_listing.read,
        comparison.objects.close,
    )


def _against_head(repository: Repository, selection: Selection) -> tuple[Comparison, str]:
    head = repository.head()
    base_name = "HEAD" if head else "nothing (first commit)"
    return Comparison(repository, selection, head or repository.empty_tree(), None), base_name
