"""What a run and the process that holds its language model say to each other: one JSON document a line."""

from __future__ import annotations

import msgspec

MOST_BYTES = 4 << 20
"""Longest line that is read; a prompt with its grammar is far below."""


class Load(msgspec.Struct, frozen=True, tag="load"):
    """Load a model: ``context`` tokens for prompt and answer together."""

    path: str
    context: int
    threads: int
    seed: int


class Loaded(msgspec.Struct, frozen=True, tag="loaded"):
    """The model can be asked. ``context`` is what it really has, ``chat`` tells whether it has a chat template."""

    description: str
    context: int
    chat: bool


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """One question. ``grammar`` (GBNF) decides what the answer may be; ``tokens`` and ``seconds`` are its limits."""

    text: str
    grammar: str
    tokens: int
    seconds: float
    temperature: float
    seed: int


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """What the model said. ``complete`` is false when a limit cut it; ``seconds`` is wall time."""

    text: str
    prompt_tokens: int
    answer_tokens: int
    complete: bool
    seconds: float


class TooLong(msgspec.Struct, frozen=True, tag="too_long"):
    """The question does not fit: it takes ``tokens``, of which ``limit`` are there."""

    tokens: int
    limit: int


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """Loading or answering failed, in one line."""

    reason: str


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """Asks what the process took so far, and answers it: largest resident memory, and processor time."""

    peak_bytes: int = 0
    processor_seconds: float = 0.0


Question = Load | Ask | Usage
Reply = Loaded | Answer | TooLong | Failed | Usage
