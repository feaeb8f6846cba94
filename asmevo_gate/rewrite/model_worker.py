"""The process that holds the language model. It reads questions from standard input and answers on standard output.

A model file is data from somewhere else, and llama.cpp ends the process on some of what it cannot read: so that this
costs the answer and not the run, nothing but this module imports ``llama_cpp``, and it runs as a process of its own.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ERROR_LEVEL = 4
"""GGML_LOG_LEVEL_ERROR (ggml.h)."""
_callbacks: list[object] = []
"""llama.cpp calls them as long as the process lives."""
_BATCH = 256
"""Tokens that are computed at once."""
_NAME = "general.name"
_TEMPLATE = "tokenizer.chat_template"


def main() -> None:
    """Answer until the input ends. What llama.cpp prints goes to standard error, whatever it prints to."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    model: _Model | None = None
    while line := sys.stdin.buffer.readline(MOST_BYTES):
        question = msgspec.json.decode(line, type=Question)
        if isinstance(question, Load):
            reply, model = _load(question)
        elif isinstance(question, Usage):
            reply = Usage(_peak_bytes(), time.process_time())
        elif model is None:
            reply = Failed("no model is loaded")
        else:
            reply = model.answer(question)
        _send(replies, reply)


def _send(stream: IO[bytes], reply: Reply) -> None:
    stream.write(msgspec.json.encode(reply) + b"\n")
    stream.flush()


def _load(question: Load) -> tuple[Reply, _Model | None]:
    import llama_cpp

    errors: list[str] = []

    @llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
    def note(level: int, text: bytes, data: object) -> None:
        if level == _ERROR_LEVEL:
            errors.append(text.decode("utf-8", "replace"))

    llama_cpp.llama_log_set(note, None)
    _callbacks.append(note)
    try:
        model = _Model(llama_cpp, question)
    except Exception as error:  # noqa: BLE001 (whatever the file made of the library: the run goes on without a model)
        # What llama.cpp printed first says more than the exception, which only says that loading failed.
        return Failed(_one_line(errors[0]) if errors else _words(error)), None
    return Loaded(model.description, model.context, model.chat is not None), model


class _Model:
    """One loaded model with its chat template."""

    def __init__(self, llama_cpp: Any, question: Load) -> None:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        from asmevo_gate.rewrite.constrained_sampling import ConstrainedSampler

        self._sampler = ConstrainedSampler
        self._library = llama_cpp
        self._model = llama_cpp.Llama(
            model_path=question.path,
            n_ctx=question.context,
            n_batch=_BATCH,
            n_ubatch=_BATCH,
            n_threads=question.threads,
            n_threads_batch=question.threads,
            n_gpu_layers=0,
            seed=question.seed,
            verbose=False,
        )
        model = self._model.model
        self._forgets_only_all = bool(
            llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model)
        )
        self._tokens_read: list[int] = []
        metadata: dict[str, str] = self._model.metadata
        trained = int(next((text for name, text in metadata.items() if name.endswith(".context_length")), "0"))
        self.context: int = min(question.context, trained) if trained > 0 else question.context
        self.description = _one_line(metadata.get(_NAME, ""))[:80]
        template = metadata.get(_TEMPLATE)
        self.chat = (
            Jinja2ChatFormatter(template, eos_token=self._special("eos"), bos_token=self._special("bos"))
            if template
            else None
        )

    def _special(self, name: str) -> str:
        token = getattr(self._model, f"token_{name}")()
        return "" if token < 0 else str(self._model._model.token_get_text(token))

    def answer(self, question: Ask) -> Reply:
        """The answer to one question, or why there is none."""
        start = time.monotonic()
        try:
            tokens = self._tokens(question.text)
            limit = self.context - question.tokens
            if len(tokens) > limit:
                return TooLong(len(tokens), limit)
            text, used, complete = self._generated(tokens, question, start + question.seconds)
        except Exception as error:  # noqa: BLE001 (a chat template is a program of the model file: it may raise anything)
            return Failed(_words(error))
        return Answer(text, len(tokens), used, complete, time.monotonic() - start)

    def _tokens(self, text: str) -> list[int]:
        """The question as the model was trained to read it: as a user's message, where it has a chat template."""
        if self.chat is not None:
            text = self.chat(messages=[{"role": "user", "content": text}]).prompt
        begins = self._special("bos")
        add_bos = not (begins and text.startswith(begins))
        tokens: list[int] = self._model.tokenize(text.encode("utf-8"), add_bos=add_bos, special=self.chat is not None)
        return tokens

    def _generated(self, tokens: list[int], question: Ask, end: float) -> tuple[str, int, bool]:
        """Text and tokens of the answer, and whether it ended by itself. Nothing of earlier questions is left over."""
        vocabulary = self._model._model.vocab
        sampler = self._sampler(self._library, vocabulary, question.grammar, question.temperature, question.seed)
        said: list[int] = []
        complete = False
        try:
            self._read(tokens)
            while len(said) < question.tokens and time.monotonic() < end:
                token = sampler.next(self._logits())
                complete = bool(self._library.llama_vocab_is_eog(vocabulary, token))
                if complete:
                    break
                said.append(token)
                self._model.eval([token])
        finally:
            sampler.close()
        return self._model.detokenize(said).decode("utf-8", "replace"), len(said), complete

    def _read(self, tokens: list[int]) -> None:
        """Let the model read the question. What it still knows of the one before is used again in whole batches only:
        the rest is then computed in the same pieces, and comes out the same, as if it read everything."""
        known = 0
        if not self._forgets_only_all:
            pairs = zip(self._tokens_read, tokens, strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            known = min(known, len(tokens) - 1) // _BATCH * _BATCH
        self._tokens_read = []
        if known:
            self._model.n_tokens = known
        else:
            self._model.reset()
        self._model.eval(tokens[known:])
        self._tokens_read = tokens

    def _logits(self) -> NDArray[np.float32]:
        import numpy as np

        found = self._library.llama_get_logits_ith(self._model.ctx, -1)
        return np.ctypeslib.as_array(found, shape=(self._model.n_vocab(),))


def _peak_bytes() -> int:
    """Largest resident memory of this process; 0 where the system does not say it.

    Linux: the high-water mark of the address space, because ``getrusage`` also counts what the parent had at the fork.
    """
    try:
        status = Path("/proc/self/status").read_text("ascii", "replace")
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return int(line.split()[1]) * 1024


def _words(error: BaseException) -> str:
    return _one_line(f"{type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    """Text of a library or a model file, fit for a terminal."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())[:300]


if __name__ == "__main__":
    main()
