"""A function that runs in a copy of this process, beside it: the second core for one large file.

The copy shares the memory of this process as it was (``fork``), so nothing has to be sent to it. It gives bytes back;
what it cannot give, for whatever reason, the caller makes itself and meets the reason there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

CAN_FORK = sys.platform == "linux"
"""Elsewhere a copy of a process is missing (Windows) or not safe to use (macOS, whose libraries forbid it)."""


class Copy:
    """A copy of this process at work. Without a ``process`` there is none, and no answer either."""

    def __init__(self, process: int = 0, answers: int = -1) -> None:
        self._process = process
        self._answers = answers

    def answer(self) -> bytes | None:
        """Wait for what the function gives; ``None`` when the copy ended without it. To be asked once."""
        if not self._process:
            return None
        with os.fdopen(self._answers, "rb", closefd=False) as stream:
            data = stream.read()
        return data if self._ended() == 0 else None

    def end(self) -> None:
        """Leave nothing behind, whether or not it was asked."""
        if self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            self._ended()
        if self._answers >= 0:
            os.close(self._answers)

    def _ended(self) -> int:
        process, self._process = self._process, 0
        return os.waitpid(process, 0)[1]


@contextmanager
def forked(make: Callable[[], bytes], wanted: bool = True) -> Iterator[Copy]:
    """Run a function in a copy of this process while the body runs, where that is ``wanted`` and possible.

    The copy has this thread only, and what is left of this process's time; it ends with the body.
    """
    copy = _start(make) if wanted and CAN_FORK else Copy()
    try:
        yield copy
    finally:
        copy.end()


def _start(make: Callable[[], bytes]) -> Copy:
    read_end, write_end = os.pipe()
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    try:
        process = os.fork()
    except OSError:  # no more processes: this one does the work
        os.close(read_end)
        os.close(write_end)
        return Copy()
    if not process:
        os.close(read_end)  # or a copy whose parent was killed would wait for itself to read
        _work(make, write_end, left)
    os.close(write_end)
    return Copy(process, read_end)


def _work(make: Callable[[], bytes], write_end: int, seconds: float) -> NoReturn:
    """Ends the process whatever happens: nothing of this process's own course may go on in its copy."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with os.fdopen(write_end, "wb") as stream:
            stream.write(make())
        code = 0
    finally:
        os._exit(code)
