"""One note, edited in place, and a few suggestions at their lines: what is posted, whatever the forge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.changes.deepening import History
from asmevo_gate.changes.line_diff import DiffReader
from asmevo_gate.errors import GateError
from asmevo_gate.forge.comparison import Comparison
from asmevo_gate.forge.model import Forge, Place, PositionRefused, Refs
from asmevo_gate.forge.note import note_name
from asmevo_gate.forge.suggestion import Suggestion

Say = Callable[[str], None]


class Posted(NamedTuple):
    """What stands on the merge request now: suggestions at their lines, those for the note, and how many are neither;
    ``resolved`` are suggestions of earlier runs that are dealt with."""

    on_lines: int
    in_note: tuple[Suggestion, ...]
    left_out: int
    resolved: int


def is_current(forge: Forge, compared: Comparison, say: Say) -> bool:
    """Whether the commit that was checked is still the last one of the merge request. The report on an older one must
    not take the place of a newer one."""
    head = forge.refs().head
    if compared.is_about(head):
        return True
    say(f"nothing is posted: the merge request is at {head[:12]} now, and {compared.head[:12]} was checked")
    return False


def post_suggestions(
    forge: Forge,
    suggestions: Sequence[Suggestion],
    most: int,
    here: Path,
    compared: Comparison,
    old_paths: dict[str, str],
    say: Say,
    name: str = "",
) -> Posted:
    """Put suggestions at their lines, at most ``most`` open ones at a time, and resolve those that are dealt with.
    Those of a gate of another ``name`` are left alone.
    A suggestion of an earlier run that still holds is left as it is, also when somebody resolved it.

    Raises:
        ForgeError: the forge cannot be reached or refuses more than a position.
    """
    threads = [thread for thread in forge.threads() if thread.mark.name == name]
    suggestions = list({suggestion.key: suggestion for suggestion in suggestions}.values())
    current = {suggestion.key for suggestion in suggestions}
    resolved = 0
    for thread in threads:
        if thread.open and thread.mark.key not in current:
            forge.resolve(thread, "Dealt with: the gate does not suggest this any more.")
            resolved += 1
    known = {thread.mark.key for thread in threads}
    on_lines = sum(1 for thread in threads if thread.open and thread.mark.key in current)
    missing = [suggestion for suggestion in suggestions if suggestion.key not in known]
    refs = forge.refs()
    reader = _diff_reader(here, compared, refs, say) if missing and on_lines < most else None
    in_note: list[Suggestion] = []
    left_out = 0
    for suggestion in missing:
        if on_lines + len(in_note) >= most:
            left_out += 1
        elif reader is not None and _suggest(forge, suggestion, reader, refs, old_paths, say):
            on_lines += 1
        else:
            in_note.append(suggestion)
    return Posted(on_lines, tuple(in_note), left_out, resolved)


def post_note(forge: Forge, body: str) -> None:
    """Write the note, in the place of the one that an earlier run of a gate of the same name wrote.

    Raises:
        ForgeError: the forge cannot be reached or refuses it.
    """
    notes = [note for note in forge.notes() if note_name(note.body) == note_name(body)]
    if not notes:
        forge.create_note(body)
    elif notes[0].body.strip() != body.strip():
        forge.update_note(notes[0], body)


def _suggest(
    forge: Forge, suggestion: Suggestion, reader: DiffReader, refs: Refs, old_paths: dict[str, str], say: Say
) -> bool:
    """Whether one of the ways to post it at its lines went well."""
    diff = reader.read(suggestion.path, old_paths.get(suggestion.path))
    if diff is None:
        return False
    place = Place(diff.old_path, diff.new_path, diff.line(suggestion.first), diff.line(suggestion.last))
    for attempt in forge.attempts(suggestion, place, refs):
        try:
            forge.suggest(attempt)
        except PositionRefused as error:
            say(f"{suggestion.path}:{suggestion.last}: no place for the suggestion: {error.message}")
        else:
            return True
    return False


def _diff_reader(here: Path, compared: Comparison, refs: Refs, say: Say) -> DiffReader | None:
    """Reads the diff that the forge shows; ``None`` where its commits cannot be had, and the note takes everything."""
    history = History(here, say)
    try:
        for commit in (refs.base, refs.head):
            history.commit(commit, "merge request")
        return DiffReader(here, refs.base, refs.head, compared.head)
    except GateError as error:
        say(f"suggestions go into the note: {error.message}")
        return None
