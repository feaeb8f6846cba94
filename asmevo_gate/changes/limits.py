"""Bounds on what is read from an untrusted change."""

from __future__ import annotations

from asmevo_gate.changes.model import MEBIBYTE, Change
from asmevo_gate.errors import LimitError


def check_size(size: int, limit: int, path: str) -> None:
    """Raise ``LimitError`` when a file has more bytes than the limit."""
    if size > limit:
        raise LimitError(
            f"the file has {size:,} bytes; the limit is {_mebibytes(limit)} (max_file_bytes)",
            "ignore it in the settings, or split it",
            file=path,
        )


class Budget:
    """The bytes that all files of a run may have together at both sides."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spent = 0

    def spend(self, change: Change) -> None:
        """Account for a file.

        Raises:
            LimitError: all files so far have more bytes than the limit.
        """
        self._spent += sum(len(version.data) for version in (change.base, change.head) if version is not None)
        if self._spent > self._limit:
            raise LimitError(
                f"the files together exceed the limit of {_mebibytes(self._limit)} (max_total_bytes)",
                "check fewer files at a time, or ignore generated ones in the settings",
            )


def _mebibytes(size: int) -> str:
    return f"{size / MEBIBYTE:g} MiB"
