"""Errors that end a run: exit code 2, one clear message, no traceback."""

from __future__ import annotations


class GateError(Exception):
    """The gate could not do its work. ``message`` says what was wrong, ``repair`` what to do about it.

    ``file`` and ``line`` (1-based) are given where the fault has a place.
    """

    def __init__(self, message: str, repair: str = "", file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.repair = repair
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        repair = f"\n  {self.repair}" if self.repair else ""
        return f"{place}{self.message}{repair}"


class UsageError(GateError):
    """Arguments or configuration are wrong."""


class LimitError(GateError):
    """An input is larger or deeper than a limit allows; the message names the limit."""
