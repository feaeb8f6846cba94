"""Answers of language models by what was asked: the same question to the same model gives the same answer, offline.

An entry is one JSON file, named by the SHA-256 of everything that the answer depends on. Its content is trusted no more
than the model: the reader of answers and the chain of acceptance see it in the same way. Files appear under their names
whole, so that any number of processes may share a cache.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from asmevo_gate.file_writing import replace_file
from asmevo_gate.rewrite.model_messages import Answer, TooLong

MOST_ENTRY_BYTES = 64 << 10
LIMIT_BYTES = 64 << 20
"""Size of a cache; the entries that were written first go first."""
_FORM = "asmevo-answer/1"
_SWEEP_EVERY = 256
_NAME = re.compile(r"[0-9a-f]{64}\.json")
Reply = Answer | TooLong


def answer_key(*parts: str | int | float) -> str:
    """The name of an answer: SHA-256 of all that it depends on."""
    return hashlib.sha256(msgspec.json.encode([_FORM, *parts])).hexdigest()


class AnswerCache:
    """The answers in one directory. One that cannot be written is as good as none: ``warn`` gets one line."""

    def __init__(self, directory: Path, warn: Callable[[str], None], limit: int = LIMIT_BYTES) -> None:
        self.directory = directory
        self.hits = 0
        self._warn = warn
        self._limit = limit
        self._written = 0

    def get(self, key: str) -> Reply | None:
        """The answer under a key; ``None`` when there is none that can be read."""
        try:
            with self._place(key).open("rb") as stream:
                content = stream.read(MOST_ENTRY_BYTES + 1)
            if len(content) > MOST_ENTRY_BYTES:
                return None
            found: Reply = msgspec.json.decode(content, type=Reply)
        except (OSError, msgspec.MsgspecError):
            return None
        self.hits += 1
        return found

    def put(self, key: str, reply: Reply) -> None:
        """Keep an answer."""
        content = msgspec.json.encode(reply)
        if len(content) > MOST_ENTRY_BYTES:
            return
        place = self._place(key)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, content)
        except OSError as error:
            self._warn(f"cannot keep answers in {self.directory}: {error.strerror}")
            return
        if self._written % _SWEEP_EVERY == 0:
            self._sweep()
        self._written += 1

    def _place(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def _sweep(self) -> None:
        """Take away what was written first until the rest is below the limit."""
        entries = []
        for path in self.directory.iterdir():
            if _NAME.fullmatch(path.name):
                with suppress(OSError):  # another process took it away
                    status = path.stat()
                    entries.append((status.st_mtime_ns, status.st_size, path))
        entries.sort()
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self._limit:
                return
            with suppress(OSError):
                path.unlink()
            total -= size
