"""What the posting code asks of a forge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from asmevo_gate.changes.line_diff import DiffLine
from asmevo_gate.errors import GateError
from asmevo_gate.forge.suggestion import Suggestion

NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)
"""What a gate may be called, so that several can be on one merge request."""
_SUGGESTION = re.compile(r"<!-- asmevo-gate:suggestion ([0-9a-f]{20})(?: ([\w.-]+))? -->", re.ASCII)


class Refs(NamedTuple):
    """The commits of the merge request: ``base`` and ``head`` are those between which the forge shows the diff,
    ``start`` is the target branch as the forge last saw it."""

    base: str
    start: str
    head: str


class Note(NamedTuple):
    """A comment on the merge request."""

    id: str
    body: str


class Mark(NamedTuple):
    """What a later run knows a suggestion by: its key, and the name of the gate that made it ("" without one)."""

    key: str
    name: str = ""

    def __str__(self) -> str:
        return f"<!-- asmevo-gate:suggestion {self.key}{f' {self.name}' if self.name else ''} -->"


class Thread(NamedTuple):
    """A comment of the gate on lines of the diff. ``mark`` is that of its suggestion."""

    id: str
    mark: Mark
    open: bool
    body: str = ""


class Place(NamedTuple):
    """Where a suggestion stands in the diff."""

    old_path: str
    new_path: str
    first: DiffLine
    last: DiffLine


class Attempt(NamedTuple):
    """One way to post a suggestion: the comment and where it goes, in the forge's own words."""

    body: str
    position: Mapping[str, Any]


class ForgeError(GateError):
    """The forge refused a request or could not be reached. The message never holds the token."""


class PositionRefused(ForgeError):
    """The forge takes no comment at this position."""


class Forge(Protocol):
    """One merge request on one forge. Every method but ``attempts`` may raise :class:`ForgeError`."""

    def refs(self) -> Refs:
        """The commits of the diff as it is now."""

    def notes(self) -> list[Note]:
        """The notes that this user wrote as the gate, oldest first."""

    def create_note(self, body: str) -> None:
        """Write a new note."""

    def update_note(self, note: Note, body: str) -> None:
        """Replace the text of a note."""

    def threads(self) -> list[Thread]:
        """The suggestions that this user wrote as the gate."""

    def attempts(self, suggestion: Suggestion, place: Place, refs: Refs) -> Iterable[Attempt]:
        """The ways to post a suggestion, the best first; none where the diff has no place for it."""

    def suggest(self, attempt: Attempt) -> None:
        """Post a suggestion.

        Raises:
            PositionRefused: there is no such position; another attempt may fare better.
        """

    def resolve(self, thread: Thread, reason: str) -> None:
        """Mark a suggestion as dealt with."""


def suggestion_body(suggestion: Suggestion, info: str) -> str:
    """The comment: why, the block that the forge can apply (``info`` follows the fence), the hidden mark."""
    lines = suggestion.replacement or ()
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    block = "\n".join((f"{fence}{info}", *lines, fence))
    return f"{suggestion.reason}\n\n{block}\n\n{Mark(suggestion.key, suggestion.name)}\n"


def suggestion_mark(body: str) -> Mark | None:
    """The mark in the last line of a comment that :func:`suggestion_body` made; ``None`` for another comment."""
    found = _SUGGESTION.fullmatch(body.rstrip().rpartition("\n")[2].strip())
    return Mark(found[1], found[2] or "") if found else None
