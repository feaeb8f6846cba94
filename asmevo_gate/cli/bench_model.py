"""``asmevo-gate bench-model``: language models side by side on a set of blocks, judged by the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asmevo_gate.cli.model_options import asking, asking_options
from asmevo_gate.errors import GateError

if TYPE_CHECKING:
    from asmevo_gate.gate.model_bench import Place, Score

SCHEMA = "asmevo-gate/bench_model/1"
_PUBLISHED = ("published (best model)", "", "", "92.0", "", "79.0", "0.80", "2.1")
"""What the article that this command answers says of its best model: compliant, effective, time, memory. It names no
data set, so that the row is a mark and no measurement."""
_HEAD = ("proposer", "blocks", "valid %", "compliant %", "accepted %", "> 3 % faster %", "s a block", "GB")


@click.command("bench-model")
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODEL...")
@click.option(
    "--kernels", "kernels", multiple=True, type=click.Path(path_type=Path), help="Measure on these files instead."
)
@click.option("--blocks", type=click.IntRange(0), default=40, show_default=True, help="Blocks to ask about (0: all).")
@click.option(
    "--deterministic/--no-deterministic", default=True, show_default=True, help="Also measure what needs no model."
)
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
@asking_options
def command(
    models: tuple[Path, ...],
    kernels: tuple[Path, ...],
    blocks: int,
    deterministic: bool,
    format_: str,
    **asked: Any,
) -> int:
    """Measure language models (GGUF) as proposers: valid, accepted and faster blocks, time, memory.

    The blocks are spread evenly over clang's output for five families of algorithms on five GPUs. Each proposer is
    asked until its first accepted proposal. Answers come from the models and from no cache.
    """
    from asmevo_gate.gate.model_bench import places
    from asmevo_gate.gate.region_set import kernels_at, shipped_kernels
    from asmevo_gate.rewrite.proposal import RewriteOptions

    chosen = places(kernels_at(kernels) if kernels else shipped_kernels(), RewriteOptions(), blocks)
    if not chosen:
        raise GateError("the kernels have no block that a rewrite may change", "name other kernels")
    scores: list[tuple[str, Score]] = []
    failures: list[str] = []
    for path in models:
        score = _model_score(path, chosen, asked, failures)
        if score is not None:
            scores.append((path.name, score))
    if deterministic:
        scores.append(("deterministic proposers", _deterministic_score(chosen)))
    click.echo(_document(scores, asked) if format_ == "json" else _table(scores), nl=False)
    return 2 if failures else 0


def _model_score(path: Path, chosen: list[Place], asked: dict[str, Any], failures: list[str]) -> Score | None:
    from asmevo_gate.gate.model_bench import measure
    from asmevo_gate.rewrite.language_model import LanguageModel
    from asmevo_gate.rewrite.model_proposer import ModelProposer

    def report(line: str) -> None:
        click.echo(f"asmevo-gate: {line}", err=True)

    model = LanguageModel(asking(path, asked))
    try:
        proposer = ModelProposer(model, report, asked["prompt_template"])
        score = measure((proposer,), chosen, lambda done: _progress(path.name, done, len(chosen)))
    finally:
        model.close()
    if proposer.failure is not None:
        failures.append(path.name)
    return score if score.blocks and proposer.failure is None else None


def _deterministic_score(chosen: list[Place]) -> Score:
    from asmevo_gate.gate.model_bench import measure
    from asmevo_gate.rewrite.proposal import RewriteOptions
    from asmevo_gate.rewrite.proposers import deterministic_proposers

    proposers = deterministic_proposers(RewriteOptions())
    return measure(proposers, chosen, lambda done: _progress("deterministic proposers", done, len(chosen)))


def _progress(name: str, done: int, of: int) -> None:
    import sys

    if sys.stderr.isatty():
        click.echo(f"\r{name}: {done} of {of} blocks ", nl=done == of, err=True)


def _table(scores: list[tuple[str, Score]]) -> str:
    rows = [_HEAD, *(_row(name, score) for name, score in scores), _PUBLISHED]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, score: Score) -> tuple[str, ...]:
    return (
        name,
        str(score.blocks),
        f"{score.valid_percent:.1f}" if score.answers else "",
        f"{score.compliant_percent:.1f}",
        f"{score.accepted_percent:.1f}",
        f"{score.improved_percent:.1f}",
        f"{score.seconds / score.blocks:.2f}",
        f"{score.peak_bytes / 1e9:.1f}" if score.peak_bytes else "",
    )


def _document(scores: list[tuple[str, Score]], asked: dict[str, Any]) -> str:
    rows = [
        {
            "proposer": name,
            "blocks": score.blocks,
            "answers": score.answers,
            "unread": score.unread,
            "empty": score.empty,
            "repeated": score.repeated,
            "proposals": score.proposals,
            "rejected": dict(sorted(score.rejected.items())),
            "valid_percent": round(score.valid_percent, 1),
            "compliant_percent": round(score.compliant_percent, 1),
            "accepted_percent": round(score.accepted_percent, 1),
            "improved_percent": round(score.improved_percent, 1),
            "seconds_per_block": round(score.seconds / score.blocks, 2),
            "model_seconds_per_block": round(score.asking / score.blocks, 2),
            "model_processor_seconds_per_block": round(score.processor / score.blocks, 2),
            "peak_memory_bytes": score.peak_bytes,
        }
        for name, score in scores
    ]
    options = {name.removeprefix("model_"): value for name, value in asked.items() if name != "model_cache"}
    published = {"compliant_percent": 92, "effective_percent": 79, "seconds": 0.8, "memory_gigabytes": 2.1}
    return (
        json.dumps({"schema": SCHEMA, "options": options, "proposers": rows, "published": published}, indent=1) + "\n"
    )
