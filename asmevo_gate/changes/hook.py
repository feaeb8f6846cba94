"""What a pre-commit hook checks: the commit that is being made, and the files that pre-commit names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from asmevo_gate.changes.model import ChangeSet, Selection, Skipped
from asmevo_gate.changes.named import named_files
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.changes.repository import decode_path
from asmevo_gate.changes.revisions import range_changes
from asmevo_gate.changes.staged import staged_changes


def hook_changes(
    paths: Iterable[str],
    cwd: Path,
    selection: Selection | None = None,
    environment: Mapping[str, str] = os.environ,
) -> ChangeSet:
    """The changes of a run by pre-commit, which passes ``paths`` (relative to the top of the work tree).

    What is compared is the index with HEAD, or the two revisions of ``--from-ref`` and ``--to-ref``.
    Pre-commit's own ``files`` and ``exclude`` decide which of the changed files are looked at. Deleted
    files, and files that include a changed one, are never passed by pre-commit and are taken all the same.
    A passed file that did not change (``--all-files``, ``--files``) is read from the work tree, which
    pre-commit has made equal to the index.

    Raises:
        GateError, UsageError, LimitError: as :func:`staged_changes`, :func:`range_changes` and
        :func:`named_files`.
    """
    selection = selection or Selection()
    start, end = environment.get("PRE_COMMIT_FROM_REF"), environment.get("PRE_COMMIT_TO_REF")
    found = range_changes(cwd, start, end, selection) if start and end else staged_changes(cwd, selection)
    passed = {decode_path(os.fsencode(path)): path for path in paths}
    kept = [change for change in found.changes if change.path in passed or change.head is None or change.reason]
    excluded = [Skipped(change.path, "not passed by pre-commit") for change in found.changes if change not in kept]
    handled = {change.path for change in found.changes} | {item.path for item in found.skipped}
    assembly = patterns(selection.assembly)
    rest = [given for path, given in passed.items() if path not in handled and assembly.matches(path)]
    named = named_files([found.root / path for path in rest], cwd, selection) if rest else None
    return ChangeSet(
        (*kept, *(named.changes if named else ())),
        (*found.skipped, *excluded, *(named.skipped if named else ())),
        found.base_name,
        found.head_name,
        found.root,
        lambda path: found.read("base", path),
        lambda path: found.read("head", path),
        found.close,
    )
