"""Edits of a text by character offsets: what no edit names comes out as it was."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class TextEdit(msgspec.Struct, frozen=True, order=True):
    """``replacement`` takes the place of the characters ``[start, end)``; an insertion where both are equal."""

    start: int
    end: int
    replacement: str


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with all edits made. Insertions at the same place come out in the order given.

    Raises:
        ValueError: an edit lies outside the text, or two edits touch the same characters.
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if not position <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit [{edit.start}, {edit.end}) overlaps another or leaves the text of {len(text)}")
        parts += [text[position : edit.start], edit.replacement]
        position = edit.end
    return "".join([*parts, text[position:]])
