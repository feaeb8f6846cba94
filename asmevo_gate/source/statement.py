"""What the assembler sees: statements with exact places, after macros and conditionals are evaluated."""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import msgspec


class Kind(Enum):
    """Kinds of statement that reach the program."""

    LABEL = "label"
    DIRECTIVE = "directive"
    INSTRUCTION = "instruction"
    ASSIGNMENT = "assignment"
    DATA = "data"
    """Machine words in a code section (``.long``, ``.quad``, ``.byte`` ...)."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a statement stands: 1-based line and column, and the half-open interval of character offsets
    ``[start, end)`` in the text of ``file``."""

    file: str
    line: int
    column: int
    start: int
    end: int


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One step of the chain of expansion: the macro (or ``.rept``/``.irp``/``.include``) and where it was used."""

    name: str
    place: Place


class Statement(msgspec.Struct, frozen=True, gc=False):
    """One label, directive, assignment or instruction.

    ``text`` is the statement after expansion, comments removed and outer blanks stripped; ``name`` is the label,
    the directive with its dot, the assigned symbol, or the mnemonic; ``rest`` what follows the name.
    ``place`` is where the text stands in the file (inside the macro's body for an expanded statement) and
    ``frames`` the chain of uses that led there, outermost first; empty for a statement written where it counts.
    ``section`` is the section that the statement goes into.
    """

    kind: Kind
    name: str
    rest: str
    text: str
    place: Place
    frames: tuple[Frame, ...] = ()
    section: str = ".text"

    @property
    def outer_place(self) -> Place:
        """The place in the checked file itself: the outermost use for an expanded statement."""
        return self.frames[0].place if self.frames else self.place


class SourceProblem(msgspec.Struct, frozen=True, gc=False):
    """Something that the assembler would reject (``error``), or that could not be evaluated (``unknown``)."""

    severity: str
    message: str
    repair: str
    place: Place
    frames: tuple[Frame, ...] = ()


class Source(msgspec.Struct, frozen=True, dict=True):
    """A parsed file: its exact text, all statements in order of assembly, problems, and defined symbols.

    ``symbols`` holds the value that each absolute symbol has at the end of the file.
    ``files`` maps every file read (the file itself, then includes) to its text.
    """

    path: str
    text: str
    statements: tuple[Statement, ...]
    problems: tuple[SourceProblem, ...]
    symbols: dict[str, int]
    files: dict[str, str]

    @cached_property
    def places_besides_instructions(self) -> tuple[int, ...]:
        """Where the statements stand that are no instructions. All others between two of them are in one section."""
        instruction = Kind.INSTRUCTION
        return tuple([place for place, one in enumerate(self.statements) if one.kind is not instruction])

    @cached_property
    def besides_instructions(self) -> tuple[Statement, ...]:
        """Labels, directives, assignments and data, in order of assembly: the few statements of a large file that say
        what its instructions are for."""
        return tuple(self.statements[place] for place in self.places_besides_instructions)
