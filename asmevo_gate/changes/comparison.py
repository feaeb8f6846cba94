"""Two sides of a repository compared: a base tree with the index, or with a commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from asmevo_gate.changes.difference import Difference, differences, renames
from asmevo_gate.changes.includes import including_files
from asmevo_gate.changes.limits import Budget
from asmevo_gate.changes.model import Change, ChangeSet, Kind, Selection, Skipped, Version
from asmevo_gate.changes.objects import Objects, is_lfs_pointer
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.changes.repository import Repository, encode_path
from asmevo_gate.changes.sides import SUBMODULE, SYMBOLIC_LINK, Entry, Listing
from asmevo_gate.errors import GateError

LFS_REASON = "a Git LFS pointer: the content is not in git"
LFS_BASE_REASON = "the base version is a Git LFS pointer: compared with nothing"
IGNORED_REASON = "ignored by the settings"


class Affected(NamedTuple):
    """A path that a comparison is about: it differs, or it includes a file that differs."""

    path: str
    old_path: str | None
    old: Entry | None
    new: Entry | None
    reason: str = ""


class Comparison:
    """A base tree and a head (a commit, or ``None`` for the index) of one repository."""

    def __init__(self, repository: Repository, selection: Selection, base: str, head: str | None) -> None:
        self.repository = repository
        self.selection = selection
        self.base = base
        self.head = head
        self.objects = Objects(repository.directory, selection.max_file_bytes)
        self.head_listing = Listing(repository, self.objects, head)
        self._assembly = patterns(selection.assembly)
        self._ignore = patterns(selection.ignore)

    def change_set(self, base_name: str, head_name: str, merged: Sequence[str] = ()) -> ChangeSet:
        """Everything that the comparison is about.

        ``merged`` are the other parents of a merge commit that is being made. What the merge takes over
        from one of them as it is, together with all that it includes, is no change of this commit.

        Raises:
            GateError: a file has an unresolved conflict or cannot be read.
            LimitError: a file is too large.
        """
        affected, skipped = self._affected(self.base)
        for parent in merged:
            against_parent = {item.path for item in self._affected(parent)[0]}
            taken = [item for item in affected if item.path not in against_parent]
            skipped += [Skipped(item.path, f"as in the merged commit {parent[:12]}") for item in taken]
            affected = [item for item in affected if item.path in against_parent]
        changes: list[Change] = []
        budget = Budget(self.selection.max_total_bytes)
        try:
            for item in affected:
                built = build_change(self.objects, item)
                if isinstance(built, Skipped):
                    skipped.append(built)
                else:
                    budget.spend(built)
                    changes.append(built)
        finally:
            self.objects.close()
        return ChangeSet(
            tuple(sorted(changes, key=lambda change: encode_path(change.path))),
            tuple(sorted(skipped, key=lambda item: encode_path(item.path))),
            base_name,
            head_name,
            self.repository.root,
            Listing(self.repository, self.objects, self.base).read,
            self.head_listing.read,
            self.objects.close,
        )

    def _affected(self, base: str) -> tuple[list[Affected], list[Skipped]]:
        """What differs from one base, and what is left out."""
        found = differences(self.repository, base, self.head)
        skipped = [
            Skipped(item.path, "a submodule: it is checked in its own repository") for item in found if _submodule(item)
        ]
        assembly = [item for item in found if self._assembly.matches(item.path) and not _submodule(item)]
        if conflict := next((item for item in assembly if item.status == "U"), None):
            raise GateError("unresolved merge conflict", "resolve it and stage the file", file=conflict.path)
        moved = self._moved(base, assembly)
        gone = set(moved.values())
        origins = {item.path: item.old for item in assembly if item.path in gone}
        affected: list[Affected] = []
        for item in assembly:
            if item.path in origins:
                continue
            if self._ignore.matches(item.path):
                skipped.append(Skipped(item.path, IGNORED_REASON))
            elif (origin := moved.get(item.path)) is not None:
                affected.append(Affected(item.path, origin, origins[origin], item.new))
            else:
                affected.append(Affected(item.path, None, item.old, item.new))
        affected += self._dependents(found)
        return affected, skipped

    def _moved(self, base: str, assembly: Sequence[Difference]) -> dict[str, str]:
        """Old path by new path. Git is asked only when something came and something went."""
        added = any(item.status == "A" for item in assembly)
        deleted = any(item.status == "D" for item in assembly)
        if not (added and deleted):
            return {}
        known = {item.path: item for item in assembly}
        found = renames(self.repository, base, self.head, self._assembly)
        return {
            new: old
            for new, old in found.items()
            if new in known and old in known and _regular(known[new].new) and _regular(known[old].old)
        }

    def _dependents(self, found: Sequence[Difference]) -> list[Affected]:
        changed = [item.path for item in found if not _submodule(item)]
        if not changed:
            return []
        causes = including_files(self.repository, self.objects, self.head_listing, self.head, changed, self._assembly)
        entries = self.head_listing.entries() if causes else {}
        return [
            Affected(path, None, entries[path], entries[path], f"includes {cause}, which changed")
            for path, cause in causes.items()
            if not self._ignore.matches(path)
        ]


def build_change(objects: Objects, item: Affected) -> Change | Skipped:
    """The change with its bytes, or why it is left out."""
    if item.new is not None and not item.new.is_file:
        link = item.new.mode == SYMBOLIC_LINK
        return Skipped(item.path, "a symbolic link: links are not followed" if link else "not a regular file")
    old_is_file = _regular(item.old)
    if item.new is None and not old_is_file:
        return Skipped(item.path, "a symbolic link that was deleted")
    head = Version(item.path, objects.read(item.new.identifier, item.path)) if item.new else None
    base_path = item.old_path or item.path
    base = Version(base_path, objects.read(item.old.identifier, base_path)) if item.old and old_is_file else None
    if head is not None and is_lfs_pointer(head.data):
        return Skipped(item.path, LFS_REASON)
    reason = item.reason
    if base is not None and is_lfs_pointer(base.data):
        if head is None:
            return Skipped(item.path, LFS_REASON)
        base, reason = None, LFS_BASE_REASON
    return Change(item.path, item.old_path, _kind(item, old_is_file), base, head, reason)


def _kind(item: Affected, old_is_file: bool) -> Kind:
    if item.new is None:
        return "deleted"
    if item.old is None or not old_is_file:
        return "added"
    if item.old_path is not None:
        return "renamed"
    if item.old.identifier != item.new.identifier:
        return "modified"
    return "mode" if item.old.mode != item.new.mode else "unchanged"


def _regular(entry: Entry | None) -> bool:
    return entry is not None and entry.is_file


def _submodule(item: Difference) -> bool:
    return any(entry is not None and entry.mode == SUBMODULE for entry in (item.old, item.new))
