"""What would be posted, printed: no network, no token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from asmevo_gate.forge import github, gitlab
from asmevo_gate.forge.job import Kind
from asmevo_gate.forge.model import Attempt, Note, Place, Refs, Thread
from asmevo_gate.forge.suggestion import Suggestion


class DryRun:
    """A forge that prints (through ``say``) what it is asked to write. It knows of nothing that was posted before."""

    def __init__(self, kind: Kind, refs: Refs, say: Callable[[str], None]) -> None:
        self._kind = kind
        self._refs = refs
        self._say = say

    def refs(self) -> Refs:
        return self._refs

    def notes(self) -> list[Note]:
        return []

    def create_note(self, body: str) -> None:
        self._say(f"would post this note, or put it in the place of an earlier one:\n{body}")

    def update_note(self, note: Note, body: str) -> None:
        self.create_note(body)

    def threads(self) -> list[Thread]:
        return []

    def attempts(self, suggestion: Suggestion, place: Place, refs: Refs) -> Iterable[Attempt]:
        if self._kind == "gitlab":
            return gitlab.attempts(suggestion, place, refs)
        return github.attempts(suggestion, place, refs)

    def suggest(self, attempt: Attempt) -> None:
        position = json.dumps(dict(attempt.position), indent=2, sort_keys=True)
        self._say(f"would post this suggestion at {position}:\n{attempt.body}")

    def resolve(self, thread: Thread, reason: str) -> None:
        raise AssertionError("a dry run knows of no earlier suggestion")
