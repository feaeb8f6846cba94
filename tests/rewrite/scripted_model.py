"""A language model that says what a test wrote down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from asmevo_gate.rewrite.language_model import LanguageModel, ModelError, ModelOptions
from asmevo_gate.rewrite.model_messages import Answer, TooLong

Says = Callable[[str], str | int]


class ScriptedModel(LanguageModel):
    """``says`` gives the answer to a question, or the number of tokens of one that is too long.

    Questions are kept in ``asked``. A ``ModelError`` in ``broken`` is what every question raises.
    """

    def __init__(self, says: Says, broken: ModelError | None = None, **options: object) -> None:
        super().__init__(ModelOptions(Path("scripted.gguf"), sha256="0" * 64, **options))  # type: ignore[arg-type]
        self.asked: list[str] = []
        self.broken = broken
        self._says = says

    def ask(self, text: str, grammar: str, tokens: int, seed: int) -> Answer | TooLong:
        self.asked.append(text)
        if self.broken is not None:
            raise self.broken
        said = self._says(text)
        if isinstance(said, int):
            return TooLong(said, 100)
        return Answer(said, len(text) // 4, len(said) // 4, True, 0.01)
