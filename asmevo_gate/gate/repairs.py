"""Repairs that the gate itself has tried: the edited file is checked again, and the finding is gone.

A finding that one statement repairs (:attr:`Finding.insertion`) is offered as a patch only if the check of the edited
file has that finding no more, has no other new one, and understands as much as before.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from asmevo_gate.changes.model import Change, ChangeSet, Version
from asmevo_gate.errors import GateError
from asmevo_gate.gate.baseline import Baseline
from asmevo_gate.gate.result import Finding, Report
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings


class Repair(msgspec.Struct, frozen=True):
    """One statement that goes on a line of its own before ``line`` of ``file`` (1-based, at head) and repairs
    ``findings``; ``patch`` is the unified diff against head."""

    file: str
    line: int
    inserted: str
    findings: tuple[Finding, ...]
    patch: str


def tried_repairs(
    report: Report,
    changes: ChangeSet,
    settings: Settings,
    request: Request,
    baseline: Baseline | None = None,
    most: int = 20,
) -> tuple[Repair, ...]:
    """At most ``most`` repairs of new findings of the report, the gravest first. Each is tried by itself: together
    they may insert more than is needed, never less."""
    by_path = {change.path: change for change in changes.changes if change.head is not None}
    made: list[Repair] = []
    for findings in _places(report.findings):
        if len(made) == most:
            break
        change = by_path.get(findings[0].file)
        if change is not None:
            # A check per place is the price of a suggestion that is known to work; assembling adds nothing to it.
            again = msgspec.structs.replace(request, assemble=False, watch=None, draw=None)
            repair = _tried(findings, change, report, changes, settings, again, baseline)
            if repair is not None:
                made.append(repair)
    return tuple(made)


def unified_diff(path: str, before: str, after: str) -> str:
    """The patch from one text to another, as git applies it."""
    lines = []
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    ):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _places(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """New findings that the same statement before the same line repairs."""
    grouped: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in findings:
        if finding.new and finding.suppressed is None and finding.insertion:
            grouped.setdefault((finding.file, finding.line, finding.insertion), []).append(finding)
    rank = {"error": 0, "warning": 1, "info": 2}
    return [tuple(group) for group in sorted(grouped.values(), key=lambda group: min(rank[f.severity] for f in group))]


def _tried(
    findings: tuple[Finding, ...],
    change: Change,
    report: Report,
    changes: ChangeSet,
    settings: Settings,
    request: Request,
    baseline: Baseline | None,
) -> Repair | None:
    place = findings[0]
    before = _plain_text(change) if change.path.isprintable() else None
    lines = before.splitlines(keepends=True) if before is not None else []
    if before is None or not 0 < place.line <= len(lines):
        return None
    old = lines[place.line - 1]
    inserted = old[: len(old) - len(old.lstrip())] + place.insertion
    after = "".join([*lines[: place.line - 1], inserted + "\n", *lines[place.line - 1 :]])
    version = Version(change.path, after.encode("utf-8"))
    edited = change._replace(head=version, kind="added" if change.base is None else "modified")
    try:
        again = run_gate(_with(changes, edited), settings, request, baseline)
    except GateError:
        return None
    if not _better(again, report, findings, change.path):
        return None
    return Repair(change.path, place.line, inserted, findings, unified_diff(change.path, before, after))


def _better(again: Report, report: Report, findings: tuple[Finding, ...], path: str) -> bool:
    """Whether the findings are gone, nothing else came, and no line became unknown."""
    before = Counter(_identity(finding) for finding in _counted(report, path))
    after = Counter(_identity(finding) for finding in _counted(again, path))
    wanted = Counter(_identity(finding) for finding in findings)
    unknown = sum(1 for line in report.coverage.unknown if line.file == path)
    gone = all(after[identity] <= before[identity] - number for identity, number in wanted.items())
    return gone and not after - before and len(again.coverage.unknown) <= unknown


def _counted(report: Report, path: str) -> Iterator[Finding]:
    for finding in report.findings:
        if finding.file == path and finding.new and finding.suppressed is None and finding.rule != "enc.assembles":
            yield finding


def _identity(finding: Finding) -> tuple[str, str, str, str]:
    """What a finding is about, without the number that tells two equal ones apart."""
    return finding.rule, finding.kernel, finding.gpu, " ".join(finding.text.split())


def _plain_text(change: Change) -> str | None:
    """The text of head, if its lines can be counted by anyone alike: UTF-8, and line feeds only."""
    try:
        text = change.head.data.decode("utf-8") if change.head else ""
    except UnicodeDecodeError:
        return None
    plain = text.splitlines() == text.removesuffix("\n").split("\n") and not text.startswith("\ufeff")
    return text if plain else None


def _with(changes: ChangeSet, edited: Change) -> ChangeSet:
    """The change set with this one file, edited."""

    def read_head(path: str) -> bytes | None:
        return edited.head.data if edited.head and path == edited.path else changes.read("head", path)

    return ChangeSet(
        (edited,),
        (),
        changes.base_name,
        changes.head_name,
        changes.root,
        lambda path: changes.read("base", path),
        read_head,
    )
