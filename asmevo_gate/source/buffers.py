"""Texts being read: files, macro uses and repetitions; each gives logical lines and knows where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from asmevo_gate.source.lines import pieces_of
from asmevo_gate.source.macros import Body
from asmevo_gate.source.statement import Frame, Place

_BATCH_LINES = 256
"""Lines of short rounds that are made at once."""


class Buffer:
    """Logical lines under the reader's position ``next``.

    ``frames`` is the chain of uses that led here. ``conditional_depth`` is the number of conditionals open when a
    macro or a repetition started; ``None`` for a file, which ``.exitm`` cannot leave.
    """

    def __init__(self, lines: Sequence[str], frames: tuple[Frame, ...], conditional_depth: int | None) -> None:
        self.lines = lines
        self.next = 0
        self.frames = frames
        self.conditional_depth = conditional_depth
        self.is_macro_use = False

    def place(self, line: int, piece: int) -> Place:
        """The place of a piece of a logical line."""
        raise NotImplementedError

    def refill(self) -> bool:
        """Go on to the next round of a repetition; False when there is none."""
        return False

    def places(self, first: int) -> Callable[[int, int], Place]:
        """Places of the lines from ``first`` on, to be kept with a body."""
        return lambda line, piece: self.place(first + line, piece)


class FileBuffer(Buffer):
    """A file."""

    def __init__(self, path: str, lines: list[str], frames: tuple[Frame, ...]) -> None:
        super().__init__(lines, frames, None)
        self.path = path
        self.offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
        """Offset of each line in the text."""
        self.numbers: Sequence[int] = range(1, len(lines) + 1)
        """Line number of each line."""
        if "\n" in "".join(lines):
            self.numbers = list(accumulate((1 + line.count("\n") for line in lines), initial=1))

    def place(self, line: int, piece: int) -> Place:
        number, offset, text = self.numbers[line], self.offsets[line], self.lines[line]
        pieces = pieces_of(text)
        if piece < len(pieces):
            return place_in_line(self.path, number, offset, text, pieces[piece][4], pieces[piece][5])
        stripped = text.strip()
        start = text.index(stripped) if stripped else 0
        return place_in_line(self.path, number, offset, text, start, start + len(stripped))


class BodyBuffer(Buffer):
    """A macro use, or rounds of a repetition, over one body."""

    def __init__(
        self,
        rounds: Iterator[list[str]],
        body: Body,
        frames: tuple[Frame, ...],
        conditional_depth: int,
    ) -> None:
        super().__init__((), frames, conditional_depth)
        self._rounds = rounds
        self._body = body
        self._round = len(body.lines)

    def place(self, line: int, piece: int) -> Place:
        return self._body.place(line % self._round, piece)

    def places(self, first: int) -> Callable[[int, int], Place]:
        body, first = self._body, first % self._round
        return lambda line, piece: body.place(first + line, piece)

    def refill(self) -> bool:
        lines: list[str] = []
        for round_lines in self._rounds:
            lines += round_lines
            if len(lines) >= _BATCH_LINES:
                break
        self.lines = lines
        self.next = 0
        return bool(lines)


def place_in_line(path: str, number: int, offset: int, line: str, start: int, end: int) -> Place:
    """The place of characters ``[start, end)`` of a logical line."""
    above = line.count("\n", 0, start)
    column = start - line.rfind("\n", 0, start) if above else start + 1
    return Place(path, number + above, column, offset + start, offset + end)
