"""How far a long run is, on one line of a terminal that is gone when the run ends."""

from __future__ import annotations

import time
from typing import TextIO

QUIET_SECONDS = 2.0
"""A run that is shorter says nothing."""
_EVERY_SECONDS = 0.2


class Progress:
    """Writes the files done and the time left to a terminal."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._started = time.monotonic()
        self._next = self._started + QUIET_SECONDS
        self._first: int | None = None
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        """``done`` of ``total`` files are checked."""
        now = time.monotonic()
        if self._first is None:
            self._first = done - 1
        if done >= total:
            if self._shown:
                self._terminal.write("\r\x1b[K")
                self._terminal.flush()
        elif now >= self._next:
            left = (now - self._started) / (done - self._first) * (total - done)
            self._terminal.write(f"\r\x1b[Kasmevo-gate: {done} of {total} files, about {_time(left)} left")
            self._terminal.flush()
            self._next, self._shown = now + _EVERY_SECONDS, True


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
