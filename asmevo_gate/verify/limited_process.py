"""External programs without a shell, with limits of time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

TIMEOUT_SECONDS = 60.0
MEMORY_BYTES = 1 << 30
FILE_BYTES = 1 << 30
"""Largest file that a program may write: ``.space 100000000000`` must not fill the disk."""
FILE_TOO_LARGE = -int(getattr(signal, "SIGXFSZ", 25))
"""Exit code of a program that was stopped for writing more."""
ERROR_BYTES = 4 << 20
"""What is kept of a program's messages; a file may have a million bad lines."""


class Finished(msgspec.Struct, frozen=True):
    """How a process ended. ``code`` is negative for a signal; ``timed_out`` says that it was killed by us."""

    code: int
    output: bytes
    errors: str
    timed_out: bool = False


def run_limited(
    arguments: Sequence[str],
    given: bytes = b"",
    timeout: float = TIMEOUT_SECONDS,
    memory: int = MEMORY_BYTES,
    directory: Path | None = None,
) -> Finished:
    """Run a program, feed it ``given``, and collect what it prints.

    The program and its children are killed after ``timeout`` seconds. Address space is limited to ``memory`` bytes,
    files to ``FILE_BYTES``, and core dumps are off where the system has resource limits. Of the messages the first
    ``ERROR_BYTES`` are kept.

    Raises:
        OSError: the program could not be started.
    """
    # What is given comes from a file: a pipe would have to be fed while the program runs.
    with tempfile.TemporaryFile() as messages, tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(
            arguments,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=messages,
            cwd=directory,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
            preexec_fn=None if sys.platform == "win32" else lambda: _set_limits(memory),
        )
        timed_out = False
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            output, _ = process.communicate()
            timed_out = True
        messages.seek(0)
        return Finished(process.returncode, output, messages.read(ERROR_BYTES).decode("utf-8", "replace"), timed_out)


def _set_limits(memory: int) -> None:
    """Runs in the child. A limit that the system refuses (macOS has no limit of address space) is left as it is:
    the timeout still holds."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        memory = min(memory, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
