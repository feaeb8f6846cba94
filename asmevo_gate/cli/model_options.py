"""The options of ``rewrite``, ``asm-evo-skill`` and ``bench-model`` that say how a language model is asked.

A model comes from the command line or the environment only: settings of a repository cannot name one, because a model
file is read by a large C++ library, and a hook reads the settings of whatever was checked out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from asmevo_gate.rewrite.answer_cache import AnswerCache
    from asmevo_gate.rewrite.language_model import ModelOptions
    from asmevo_gate.rewrite.model_proposer import ModelProposer

_Command = TypeVar("_Command", bound=Callable[..., Any])


def choice_options(command: _Command) -> _Command:
    """Give a command the options that choose one model: ``model_path`` and ``model_sha256``."""
    for option in (
        click.option(
            "--model-sha256", envvar="ASMEVO_MODEL_SHA256", metavar="HEX", default="", help="The only model to load."
        ),
        click.option(
            "--model-path",
            envvar="ASMEVO_MODEL",
            type=click.Path(path_type=Path),
            help="Language model (GGUF) that proposes rewrites too.",
        ),
    ):
        command = option(command)
    return command


def asking_options(command: _Command) -> _Command:
    """Give a command the options of how a model is asked, under the names of :func:`asking`."""
    for option in (
        click.option(
            "--model-cache",
            envvar="ASMEVO_MODEL_CACHE",
            type=click.Path(path_type=Path),
            help="Directory of answers by content.",
        ),
        click.option("--model-rounds", type=click.IntRange(1, 16), default=3, show_default=True, help="Tries a block."),
        click.option(
            "--model-seconds", type=click.FloatRange(0.1), default=60.0, show_default=True, help="Time an answer."
        ),
        click.option(
            "--model-tokens", type=click.IntRange(16, 2048), default=384, show_default=True, help="Tokens an answer."
        ),
        click.option(
            "--model-threads", type=click.IntRange(0, 256), default=0, help="Threads (0: one fewer than cores)."
        ),
        click.option("--model-temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True),
        click.option("--model-seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True),
        click.option("--prompt-template", metavar="TEXT", help="Prompt for the model; holds {instruction}."),
    ):
        command = option(command)
    return command


def asking(path: Path, given: dict[str, Any], sha256: str = "") -> ModelOptions:
    """The options of :func:`asking_options` (``given``, by name) for one model.

    Raises:
        UsageError: the pin is no SHA-256.
    """
    from asmevo_gate.rewrite.language_model import ModelOptions

    return ModelOptions(
        path=path,
        sha256=sha256,
        seed=given["model_seed"],
        temperature=given["model_temperature"],
        threads=given["model_threads"],
        answer_tokens=given["model_tokens"],
        seconds=given["model_seconds"],
        rounds=given["model_rounds"],
    ).checked()


def model_proposer(given: dict[str, Any], program: str) -> ModelProposer | None:
    """The proposer of the model that was chosen, if one was; ``program`` begins each line of what it reports.

    Raises:
        UsageError: the pin or the template is wrong.
    """
    template = given["prompt_template"]
    if template is not None:
        from asmevo_gate.rewrite.prompt import checked_template

        checked_template(template)
    if given["model_path"] is None:
        return None
    from asmevo_gate.rewrite.language_model import LanguageModel
    from asmevo_gate.rewrite.model_proposer import ModelProposer

    def report(line: str) -> None:
        click.echo(f"{program}: {line}", err=True)

    model = LanguageModel(asking(given["model_path"], given, given["model_sha256"]))
    return ModelProposer(model, report, template, answer_cache(given["model_cache"], report))


@contextmanager
def running(model: ModelProposer | None) -> Iterator[tuple[ModelProposer, ...]]:
    """The model as a proposer to add, if there is one; its process ends with the block."""
    if model is not None:
        model.begin()
    try:
        yield () if model is None else (model,)
    finally:
        if model is not None:
            model.model.close()


def answer_cache(directory: Path | None, report: Callable[[str], None]) -> AnswerCache:
    """The cache of answers: the one that was named, else one beside the cache of results."""
    from asmevo_gate.gate.cache import cache_directory
    from asmevo_gate.rewrite.answer_cache import AnswerCache

    return AnswerCache(directory or cache_directory() / "answers", report)
