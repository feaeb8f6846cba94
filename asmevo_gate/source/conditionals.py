"""The state of ``.if`` ... ``.endif`` (LLVM's ``AsmCond`` stack)."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.source.expressions import ExpressionError
from asmevo_gate.source.statement import Frame, Place

EXPRESSION_TESTS: dict[str, Callable[[int], bool]] = {
    ".if": lambda value: value != 0,
    ".ifne": lambda value: value != 0,
    ".ifeq": lambda value: value == 0,
    ".ifge": lambda value: value >= 0,
    ".ifgt": lambda value: value > 0,
    ".ifle": lambda value: value <= 0,
    ".iflt": lambda value: value < 0,
}
TEXT_TESTS = frozenset({".ifb", ".ifnb", ".ifc", ".ifnc", ".ifeqs", ".ifnes", ".ifdef", ".ifndef", ".ifnotdef"})
OPENINGS = frozenset(EXPRESSION_TESTS) | TEXT_TESTS
DIRECTIVES = OPENINGS | {".elseif", ".else", ".endif"}
"""All conditional directives, in lower case."""


class ConditionalStack:
    """Whether statements are assembled, and the conditionals that are open."""

    def __init__(self) -> None:
        self.ignore = False
        self._met = False
        self._state = ""
        self._stack: list[tuple[bool, bool, str]] = []
        self._openings: list[tuple[Place, tuple[Frame, ...]]] = []

    @property
    def depth(self) -> int:
        """How many conditionals are open."""
        return len(self._stack)

    @property
    def innermost(self) -> tuple[Place, tuple[Frame, ...]]:
        """Where the innermost open conditional starts."""
        return self._openings[-1]

    def open(self, test: Callable[[], bool], place: Place, frames: tuple[Frame, ...]) -> None:
        """``.if`` and its family; ``test`` is asked only where statements are assembled."""
        outer_ignored = self.ignore
        self._stack.append((self.ignore, self._met, self._state))
        self._openings.append((place, frames))
        self._state = "if"
        if not outer_ignored:
            self._met = False
            self.ignore = True
            self._met = test()
            self.ignore = not self._met

    def else_if(self, test: Callable[[], bool]) -> bool:
        """``.elseif``; False when none may stand here."""
        if self._state not in ("if", "elseif"):
            return False
        self._state = "elseif"
        self.ignore = True
        if not self._stack[-1][0] and not self._met:
            self._met = test()
            self.ignore = not self._met
        return True

    def otherwise(self) -> bool:
        """``.else``; False when none may stand here."""
        if self._state not in ("if", "elseif"):
            return False
        self._state = "else"
        self.ignore = self._stack[-1][0] or self._met
        return True

    def close(self) -> bool:
        """``.endif``; False when no conditional is open."""
        if not self._stack:
            return False
        self.ignore, self._met, self._state = self._stack.pop()
        self._openings.pop()
        return True

    def unwind(self, depth: int) -> None:
        """Close conditionals until ``depth`` are open, as ``.exitm`` does."""
        while len(self._stack) > depth:
            self.close()


def text_test(directive: str, rest: str, defined: Callable[[str], bool]) -> bool:
    """The answer of a directive of :data:`TEXT_TESTS`.

    Raises:
        ExpressionError: its operands are malformed.
    """
    if directive in (".ifb", ".ifnb"):
        return (rest == "") == (directive == ".ifb")
    if directive in (".ifdef", ".ifndef", ".ifnotdef"):
        name = rest.strip('"')
        if not name or any(character in name for character in " \t,()+-*"):
            raise ExpressionError(f"expected a symbol name after '{directive}'")
        return defined(name) == (directive == ".ifdef")
    left, comma, right = rest.partition(",")
    if not comma:
        raise ExpressionError(f"expected a comma in '{directive}' directive")
    left, right = left.strip(), right.strip()
    if directive in (".ifc", ".ifnc"):
        return (left == right) == (directive == ".ifc")
    if not (left[:1] == left[-1:] == right[:1] == right[-1:] == '"' and len(left) > 1 and len(right) > 1):
        raise ExpressionError(f"expected two strings in '{directive}' directive")
    return (left == right) == (directive == ".ifeqs")
