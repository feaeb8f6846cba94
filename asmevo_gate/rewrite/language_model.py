"""A language model as a process that answers questions under a grammar, with limits of time, tokens and memory.

Nothing is fetched from a network, and nothing of the model runs in this process (see :mod:`model_worker`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import msgspec

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.rewrite.available_memory import available_bytes
from asmevo_gate.rewrite.model_files import model_file
from asmevo_gate.rewrite.model_messages import (
    MOST_BYTES,
    Answer,
    Ask,
    Failed,
    Load,
    Loaded,
    Question,
    Reply,
    TooLong,
    Usage,
)

CONTEXT_TOKENS = 4096
"""Prompt and answer together."""
LOAD_SECONDS = 300.0
"""Time for a model to load: several GB from a slow disk."""
_OVERHEAD_BYTES = 256 << 20
"""The library, Python and the buffers beside the weights; the key-value cache of a model of a few GB is below it."""
_GRACE_SECONDS = 10.0
"""A model that looks at no clock (it reads the prompt in one piece) is ended so long after its time."""
_SAFE_DIRECTORY = Path(__file__).resolve().parents[2]
"""Where the process starts: Python looks for modules there first, and a checked out repository may hold any."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ModelError(GateError):
    """The language model cannot be used. The proposers that need none still run."""


def _threads() -> int:
    return max(1, (os.cpu_count() or 2) - 1)


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it is asked.

    ``sha256`` pins the file: another one is not loaded. ``temperature`` 0 takes the likeliest token, which with the
    fixed ``seed`` gives the same answers on every run of one machine. ``answer_tokens`` and ``seconds`` are the limits
    of one answer, ``context`` (tokens) that of prompt and answer together, ``rounds`` the answers for one block.
    ``threads`` 0: one fewer than the machine has cores.
    """

    path: Path
    sha256: str = ""
    seed: int = 1
    temperature: float = 0.0
    threads: int = 0
    context: int = CONTEXT_TOKENS
    answer_tokens: int = 384
    seconds: float = 60.0
    rounds: int = 3

    def checked(self) -> ModelOptions:
        """The same with every default filled in.

        Raises:
            UsageError: the pin is no SHA-256.
        """
        pin = self.sha256.lower()
        if pin and not _DIGEST.fullmatch(pin):
            raise UsageError(f"'{self.sha256[:80]}' is no SHA-256", "give the 64 hexadecimal digits of sha256sum MODEL")
        return replace(self, sha256=pin, threads=self.threads or _threads())


class LanguageModel:
    """One model; the process starts with the first question."""

    def __init__(self, options: ModelOptions) -> None:
        self.options = options.checked()
        self._process: _Process | None = None
        self._gone: ModelError | None = None

    @property
    def name(self) -> str:
        """The model for people."""
        return self.options.path.name

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the model: the pin, or of the file. With a pin the file need not be there until it is asked.

        Raises:
            ModelError: there is no such file, or it is no model.
        """
        return self.options.sha256 or _digest(_checked_file(self.options.path))

    def check_file(self) -> None:
        """Look whether the model is there before anything is asked. A pinned one need not be: its answers may be known.

        Raises:
            ModelError: there is no such file, or it is no model.
        """
        if not self.options.sha256:
            _checked_file(self.options.path)

    def ask(self, text: str, grammar: str, tokens: int, seed: int) -> Answer | TooLong:
        """One answer of at most ``tokens`` tokens. The seed only matters above temperature 0.

        Raises:
            ModelError: the model cannot be loaded or failed. It stays so: it is not asked again.
        """
        options = self.options
        question = Ask(text, grammar, tokens, options.seconds, options.temperature, seed)
        reply = self._talk(question, options.seconds + _GRACE_SECONDS)
        if isinstance(reply, Answer | TooLong):
            return reply
        raise self._failed(f"the model {self.name} gave no answer: {_reason(reply)}")

    def usage(self) -> Usage:
        """What the model's process took; nothing when it never ran."""
        if self._process is None:
            return Usage()
        reply = self._talk(Usage(), _GRACE_SECONDS)
        return reply if isinstance(reply, Usage) else Usage()

    def load(self) -> Loaded:
        """Load the model now, and what it says of itself.

        Raises:
            ModelError: it cannot be loaded.
        """
        return self._running().loaded

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _talk(self, question: Question, seconds: float) -> Reply:
        try:
            return self._running().talk(question, seconds)
        except _Ended as ended:
            raise self._failed(f"the model {self.name} {ended}") from ended

    def _running(self) -> _Process:
        if self._gone is not None:
            raise self._gone
        if self._process is None:
            try:
                self._process = self._started()
            except ModelError as error:
                self._gone = error
                raise
        return self._process

    def _started(self) -> _Process:
        options = self.options
        path = _checked_file(options.path)
        if options.sha256 and _digest(path) != options.sha256:
            raise ModelError(f"{path} is not the pinned model: its SHA-256 is another", "pass the model of the pin")
        _check_memory(path)
        if find_spec("llama_cpp") is None:
            raise ModelError(
                "language models need llama-cpp-python, which is not installed", "pip install 'asmevo-gate[llm]'"
            )
        process = _Process()
        question = Load(str(path.resolve()), options.context, options.threads, options.seed)
        try:
            reply = process.talk(question, LOAD_SECONDS)
        except _Ended as ended:
            raise ModelError(f"the model {path} cannot be loaded: it {ended}", _OTHER_MODEL) from ended
        if not isinstance(reply, Loaded):
            process.end()
            raise ModelError(f"the model {path} cannot be loaded: {_reason(reply)}", _OTHER_MODEL)
        process.loaded = reply
        return process

    def _failed(self, words: str) -> ModelError:
        self.close()
        self._gone = ModelError(words, "it is not asked again in this run")
        return self._gone


_OTHER_MODEL = "pass a whole GGUF file of a text model that llama.cpp knows"


def _reason(reply: Reply) -> str:
    return reply.reason if isinstance(reply, Failed) else f"it answered {type(reply).__name__}"


def _checked_file(path: Path) -> Path:
    try:
        return model_file(path)
    except UsageError as error:
        raise ModelError(error.message, error.repair) from error


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise ModelError(f"cannot read the model {path}: {error.strerror}", "check its permissions") from error
    return digest.hexdigest()


def _check_memory(path: Path) -> None:
    needed, there = path.stat().st_size + _OVERHEAD_BYTES, available_bytes()
    if there is not None and needed > there:
        raise ModelError(
            f"the model {path} does not fit in memory: it needs about {needed / 2**30:.1f} GiB,"
            f" {there / 2**30:.1f} GiB are available",
            "take a smaller model or a smaller quantisation of it",
        )


class _Ended(Exception):
    """The process ended or was ended; the words follow its name."""


class _Process:
    """The worker process and its two pipes."""

    loaded: Loaded

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "asmevo_gate.rewrite.model_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_SAFE_DIRECTORY,
            start_new_session=True,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def talk(self, question: Question, seconds: float) -> Reply:
        """One question and its reply.

        Raises:
            _Ended: the process died, said what is no reply, or took too long and was killed.
        """
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(msgspec.json.encode(question) + b"\n")
            self._child.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.end()
            raise _Ended(f"took longer than {seconds:g} seconds") from None
        except OSError:
            line = b""
        if not line:
            raise _Ended(_how(self._ended()))
        try:
            return msgspec.json.decode(line, type=Reply)
        except msgspec.MsgspecError as error:
            self.end()
            raise _Ended("said something that is no reply") from error

    def end(self) -> None:
        """Kill the process."""
        self._child.kill()
        self._ended()

    def _ended(self) -> int:
        code = self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not read any more
                    stream.close()
        return code

    def _read(self) -> None:
        assert self._child.stdout is not None
        try:
            while line := self._child.stdout.readline(MOST_BYTES):
                self._lines.put(line)
        except (OSError, ValueError):
            pass  # closed by end(): the empty line below says so
        self._lines.put(b"")


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
