"""Blobs, read through one ``git cat-file --batch`` process."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

from asmevo_gate.changes.limits import check_size
from asmevo_gate.changes.repository import TIMEOUT_SECONDS, git_environment, git_missing
from asmevo_gate.errors import GateError


class Objects:
    """Reads blobs by id. The process starts with the first read and ends with :meth:`close`.

    A size is checked before the content is read, so that a huge file costs no memory.
    """

    def __init__(self, directory: Path, max_file_bytes: int) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._directory = directory
        self._limit = max_file_bytes
        self._watch: _Watch | None = None

    def read(self, identifier: str, path: str) -> bytes:
        """The bytes of a blob. ``path`` is for the messages.

        Raises:
            LimitError: the blob is larger than the limit.
            GateError: the object is missing or damaged, or git does not answer.
        """
        process, watch = self._started()
        watch.waiting_since = time.monotonic()
        try:
            return self._exchange(process, identifier, path)
        except (OSError, ValueError) as error:
            self.close()
            raise _unreadable(identifier, path) from error
        except GateError:
            self.close()  # the rest of the answer is still in the pipe
            raise
        finally:
            watch.waiting_since = None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._watch is not None:
            self._watch.end()
        process.kill()  # it holds nothing that could be lost
        with process:  # closes the pipes and waits
            pass

    def __del__(self) -> None:
        self.close()

    def _started(self) -> tuple[subprocess.Popen[bytes], _Watch]:
        if self._process is None or self._watch is None:
            try:
                self._process = subprocess.Popen(
                    ["git", "cat-file", "--batch"],
                    cwd=self._directory,
                    env=git_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except FileNotFoundError as error:
                raise git_missing() from error
            self._watch = _Watch(self._process)
        return self._process, self._watch

    def _exchange(self, process: subprocess.Popen[bytes], identifier: str, path: str) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(identifier.encode("ascii") + b"\n")
        process.stdin.flush()
        fields = process.stdout.readline().split()
        if len(fields) != 3 or fields[1] != b"blob":
            raise _unreadable(identifier, path)
        size = int(fields[2])
        check_size(size, self._limit, path)
        content = process.stdout.read(size + 1)
        if len(content) != size + 1:
            raise _unreadable(identifier, path)
        return content[:-1]


class _Watch:
    """Kills a process that lets its reader wait too long, so that the read ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.waiting_since: float | None = None
        self._process = process
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(1.0):
            since = self.waiting_since
            if since is not None and time.monotonic() - since > TIMEOUT_SECONDS:
                self._process.kill()
                return


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a blob is a Git LFS pointer (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md)."""
    return len(data) < 1024 and data.startswith(b"version https://git-lfs.github.com/spec/v1\n")


def _unreadable(identifier: str, path: str) -> GateError:
    return GateError(
        f"git object {identifier[:12]} is missing or damaged",
        "check the repository with: git fsck; a partial clone may need: git fetch --refetch",
        file=path,
    )
