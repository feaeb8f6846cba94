"""Suggestions for a merge request: edits of lines, from repairs that the gate tried and from accepted rewrites."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from asmevo_gate.changes.patch_series import Patch
from asmevo_gate.errors import GateError
from asmevo_gate.gate.repairs import Repair
from asmevo_gate.gate.result import Report, Rewrite
from asmevo_gate.report.text import clipped, markdown_code, markdown_text, one_line

MOST_LINES = 100
"""GitLab: a suggestion reaches at most 100 lines above the line that it stands at."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MESSAGE = 600


@dataclass(frozen=True)
class Suggestion:
    """An edit: ``replacement`` takes the place of the lines ``first`` to ``last`` of ``path`` at head (1-based).

    ``title`` is one plain line, ``reason`` Markdown, ``message`` the same as plain text. ``key`` is the same in every
    run as long as what it repairs and what it proposes are, wherever the lines are. ``replacement`` is ``None`` for an
    edit that no block of lines can show (too long, or with characters that do not survive a comment); its patch is
    still whole. ``name`` is that of the gate that suggests it, where several are on one merge request.
    """

    path: str
    first: int
    last: int
    replacement: tuple[str, ...] | None
    title: str
    reason: str
    message: str
    key: str
    patch: str
    name: str = ""

    def commit(self) -> Patch:
        """The suggestion as the patch of a commit."""
        return Patch(self.patch, f"{self.title}\n\n{self.message}\n")


class Edit(NamedTuple):
    """What a unified diff of one file does, as one block of lines."""

    path: str
    first: int
    last: int
    replacement: tuple[str, ...]


def suggestions_of(
    report: Report, repairs: Iterable[Repair], texts: Mapping[str, str]
) -> tuple[list[Suggestion], list[str]]:
    """The suggestions, repairs first, and what is wrong with patches that cannot be read. ``texts`` are the files at
    head by path."""
    made: list[Suggestion] = []
    problems: list[str] = []
    for repair in repairs:
        try:
            made.append(_of_repair(repair, texts))
        except GateError as error:
            problems.append(f"the patch for {one_line(repair.file)}: {error.message}")
    for rewrite in report.rewrites:
        if rewrite.state == "accepted" and rewrite.patch:
            try:
                made.append(_of_rewrite(rewrite, texts))
            except GateError as error:
                problems.append(f"the patch of the rewrite of {one_line(rewrite.kernel)}: {error.message}")
    return made, problems


def edit_of(patch: str, texts: Mapping[str, str]) -> Edit:
    """One block for all hunks of a patch; lines between them, which it does not change, are in it.

    Raises:
        GateError: it is not a unified diff of one file whose text at head is known, or does not fit that text.
    """
    path, hunks = _parse(patch)
    if path not in texts:
        raise GateError(f"the patch is for {path!r}, which was not checked")
    lines = texts[path].split("\n")
    first = last = 0
    result: list[str] = []
    for start, changed in hunks:
        at = start
        for sign, text in changed:
            if sign == "+":
                if not first:
                    first, last = at, at - 1
                result += lines[last : at - 1]
                last = max(last, at - 1)
                result.append(text)
                continue
            if at > len(lines) or lines[at - 1] != text:
                raise GateError(f"the patch does not fit {path!r} at line {at}")
            if sign == "-":
                if not first:
                    first, last = at, at - 1
                result += lines[last : at - 1]
                last = at
            at += 1
    if not first:
        raise GateError("the patch changes nothing")
    if last < first:  # nothing but insertions: the line behind them is written anew, as it is
        if first > len(lines) or (first == len(lines) and not lines[-1]):
            first, last = first - 1, first - 1
            result.insert(0, lines[first - 1])
        else:
            last = first
            result.append(lines[first - 1])
    return Edit(path, first, last, tuple(result))


def _parse(patch: str) -> tuple[str, list[tuple[int, list[tuple[str, str]]]]]:
    path = ""
    hunks: list[tuple[int, list[tuple[str, str]]]] = []
    left_old = left_new = 0
    for line in patch.split("\n"):
        if left_old > 0 or left_new > 0:
            sign, text = line[:1] or " ", line[1:]
            if sign == "\\":
                continue
            if sign not in "+- ":
                raise GateError("the patch is not a unified diff")
            left_old -= sign != "+"
            left_new -= sign != "-"
            hunks[-1][1].append((sign, text))
        elif line.startswith("+++ "):
            if path:
                raise GateError("the patch is for more than one file")
            path = line[4:].partition("\t")[0].removeprefix("b/")
        elif match := _HUNK.match(line):
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
            hunks.append((int(match[1]) + (left_old == 0), []))
    if not path or not hunks or left_old > 0 or left_new > 0:
        raise GateError("the patch is not a unified diff of one file")
    return path, hunks


class _Words(NamedTuple):
    title: str
    reason: str
    message: str


_CHECKED = "With this edit the gate was run again: the finding is gone, and no new one came."


def _of_repair(repair: Repair, texts: Mapping[str, str]) -> Suggestion:
    finding = repair.findings[0]
    where = f" in {markdown_code(finding.kernel)}" if finding.kernel else ""
    said = [
        f"**{one.severity}** {markdown_code(one.rule)}{where}: {markdown_text(clipped(one.message, _MESSAGE))}"
        for one in repair.findings
    ]
    plain = [f"{one.rule}: {clipped(one_line(one.message), _MESSAGE)}" for one in repair.findings]
    words = _Words(
        f"Insert {one_line(repair.inserted)} in {one_line(finding.kernel or repair.file)}",
        "\n\n".join([*said, _CHECKED]),
        "\n\n".join([*plain, _CHECKED]),
    )
    names = tuple(one.fingerprint for one in repair.findings)
    return _suggestion(edit_of(repair.patch, texts), words, names, repair.patch)


def _of_rewrite(rewrite: Rewrite, texts: Mapping[str, str]) -> Suggestion:
    why, proof = clipped(one_line(rewrite.reason), _MESSAGE), clipped(one_line(rewrite.proof), 200)
    region, kernel = one_line(rewrite.region), one_line(rewrite.kernel)
    where = region if region.startswith(kernel) else f"{region} of {kernel}"
    gains = "".join(f"; {gain}" for gain in _gains(rewrite.metrics))
    words = _Words(
        f"Rewrite {where}",
        f"**rewrite** of {markdown_code(where)}: {markdown_text(why)}\n\nShown equal: {markdown_text(proof + gains)}.",
        f"{why}\n\nShown equal: {proof}{gains}.",
    )
    edit = edit_of(rewrite.patch, texts)
    replaced = texts[edit.path].split("\n")[edit.first - 1 : edit.last]
    return _suggestion(edit, words, (rewrite.kernel, *replaced), rewrite.patch)


def _gains(metrics: Mapping[str, float]) -> list[str]:
    """``cycles 20 to 8``: the numbers of the region that differ (those of its block say the same once more)."""
    names = [name.removesuffix("_before") for name in sorted(metrics) if name.endswith("_before")]
    pairs = [(name, metrics[f"{name}_before"], metrics.get(f"{name}_after")) for name in names]
    return [
        f"{name.replace('_', ' ')} {before:g} to {after:g}"
        for name, before, after in pairs
        if after not in (None, before) and not name.startswith("block_")
    ]


def _suggestion(edit: Edit, words: _Words, names: Sequence[str], patch: str) -> Suggestion:
    identity = "\0".join((edit.path, *names, *edit.replacement))
    key = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    fits = edit.last - edit.first < MOST_LINES and all(_survives(line) for line in edit.replacement)
    return Suggestion(
        edit.path,
        edit.first,
        edit.last,
        edit.replacement if fits else None,
        clipped(words.title, 120),
        words.reason,
        words.message,
        key,
        patch,
    )


def _survives(line: str) -> bool:
    """Whether a line comes out of a comment as it went in."""
    return line.replace("\t", "").isprintable()
