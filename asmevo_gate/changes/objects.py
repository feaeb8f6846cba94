"""Blobs, read through one ``git cat-file --batch`` process."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from asmevo_gate.changes.model import MEBIBYTE, Selection
from asmevo_gate.changes.repository import TIMEOUT_SECONDS, git_environment, git_missing
from asmevo_gate.errors import GateError, LimitError


class Objects:
    """Reads blobs by id. The process starts with the first read and ends with :meth:`close`.

    A size is checked before the content is read, so that a huge file costs no memory.
    """

    def __init__(self, directory: Path, selection: Selection) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._directory = directory
        self._file_limit = selection.max_file_bytes
        self._total_limit = selection.max_total_bytes
        self._total = 0

    def read(self, identifier: str, path: str) -> bytes:
        """The bytes of a blob. ``path`` is for the messages.

        Raises:
            LimitError: the blob, or all that was read so far, is larger than its limit.
            GateError: the object is missing or damaged, or git does not answer.
        """
        process = self._started()
        watch = threading.Timer(TIMEOUT_SECONDS, process.kill)
        watch.daemon = True
        watch.start()
        try:
            return self._exchange(process, identifier, path)
        except (OSError, ValueError) as error:
            self.close()
            raise _unreadable(identifier, path) from error
        except GateError:
            self.close()
            raise
        finally:
            watch.cancel()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # it holds nothing that could be lost
        with process:  # closes the pipes and waits
            pass

    def __del__(self) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
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
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], identifier: str, path: str) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(identifier.encode("ascii") + b"\n")
        process.stdin.flush()
        fields = process.stdout.readline().split()
        if len(fields) != 3 or fields[1] != b"blob":
            raise _unreadable(identifier, path)
        size = int(fields[2])
        check_size(size, self._file_limit, path)
        self._total += size
        if self._total > self._total_limit:
            raise LimitError(
                f"the files together exceed the limit of {_mebibytes(self._total_limit)} (max_total_bytes)",
                "check fewer files at a time, or ignore generated ones in the settings",
            )
        content = process.stdout.read(size + 1)
        if len(content) != size + 1:
            raise _unreadable(identifier, path)
        return content[:-1]


def check_size(size: int, limit: int, path: str) -> None:
    """Raise LimitError when a file is larger than the limit."""
    if size > limit:
        raise LimitError(
            f"the file has {size:,} bytes; the limit is {_mebibytes(limit)} (max_file_bytes)",
            "ignore it in the settings, or split it",
            file=path,
        )


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a blob is a Git LFS pointer (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md)."""
    return len(data) < 1024 and data.startswith(b"version https://git-lfs.github.com/spec/v1\n")


def _mebibytes(size: int) -> str:
    return f"{size / MEBIBYTE:g} MiB"


def _unreadable(identifier: str, path: str) -> GateError:
    return GateError(
        f"git object {identifier[:12]} is missing or damaged",
        "check the repository with: git fsck; a partial clone may need: git fetch --refetch",
        file=path,
    )
