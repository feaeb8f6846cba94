"""``asmevo-gate verify``: two versions of a file in, one answer a block that differs out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asmevo_gate.errors import GateError, UsageError

if TYPE_CHECKING:
    from asmevo_gate.isa.targets import Target
    from asmevo_gate.program.model import Function, Program
    from asmevo_gate.proof.comparison import BlockAnswer, Comparison
    from asmevo_gate.proof.equivalence import Counterexample
    from asmevo_gate.proof.timing import TimingViolation

NAN_PAYLOADS = ("exact", "any")


@click.command("verify")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--gpu", metavar="GPU", help="Compare for this GPU whatever the files say.")
@click.option("--rocm", metavar="VERSION", default="", help="ROCm version whose constraint files hold.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--nan-payloads",
    type=click.Choice(NAN_PAYLOADS),
    default="exact",
    show_default=True,
    help="'any': which of several NaN operands a float result repeats does not matter.",
)
@click.option("--solver-ms", type=click.IntRange(0), default=2000, show_default=True, help="Solver time per register.")
def command(old: Path, new: Path, gpu: str | None, rocm: str, format_: str, nan_payloads: str, solver_ms: int) -> int:
    """Prove or refute that NEW.s computes the same as OLD.s, block by block.

    Exit code: 0 every block that differs is proved, 1 one is not, 2 the files could not be compared.
    """
    from asmevo_gate.proof.comparison import compare_programs
    from asmevo_gate.proof.equivalence import ProofOptions
    from asmevo_gate.proof.timing import memory_waits

    _require_numpy()
    texts = {path: _read(path) for path in (old, new)}
    target = _target(texts, gpu)
    programs = [_program(path, texts[path], target) for path in (old, new)]
    options = ProofOptions("any" if nan_payloads == "any" else "exact", solver_ms)

    def hazards(function: Function) -> Iterable[TimingViolation]:
        return _hazards(function, rocm)

    comparison = compare_programs(programs[0], programs[1], (memory_waits, hazards), options)
    click.echo(_as_json(comparison) if format_ == "json" else _as_text(comparison, new))
    return 0 if comparison.answer == "proved" else 1


def _require_numpy() -> None:
    """Counterexamples are looked for with numpy; without it a difference could not be told from equality in time.

    Raises:
        UsageError: numpy is not installed.
    """
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise UsageError("verify needs numpy", "install it with: pip install 'asmevo-gate[rewrite]'") from error


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name two assembly files: OLD.s NEW.s") from error


def _target(texts: dict[Path, str], gpu: str | None) -> Target:
    from asmevo_gate.gate.target_choice import named_target
    from asmevo_gate.isa.targets import parse_target

    if gpu:
        return parse_target(gpu)
    found = {path: named_target(str(path), text) for path, text in texts.items()}
    named = [target for target in found.values() if target is not None]
    if not named:
        raise UsageError("nothing says which GPU the files are for", "add .amdgcn_target to them, or pass --gpu")
    if any(target.name != named[0].name or target.features != named[0].features for target in named):
        names = " and ".join(target.name for target in named)
        raise UsageError(f"the files are for different targets ({names})", "pass --gpu to compare them for one")
    return named[0]


def _program(path: Path, text: str, target: Target) -> Program:
    from asmevo_gate.program.builder import build_program
    from asmevo_gate.source.options import SourceOptions
    from asmevo_gate.source.parser import parse_source
    from asmevo_gate.source.symbols import predefined_symbols
    from asmevo_gate.verify.machine_words import expand_machine_words, has_machine_words

    options = SourceOptions(predefined=predefined_symbols(target.name), root=str(path.resolve().parent))
    source = parse_source(path.name, text, options)
    for problem in source.problems:
        if problem.severity == "error":
            raise GateError(problem.message, problem.repair, problem.place.file, problem.place.line)
    if has_machine_words(source):
        source = expand_machine_words(source, target, None)
    return build_program(source, target)


def _hazards(function: Function, rocm: str) -> Iterable[TimingViolation]:
    from asmevo_gate.constraints.files import graph_for
    from asmevo_gate.constraints.reference import violations
    from asmevo_gate.proof.timing import TimingViolation

    for found in violations(function, graph_for(function.target, rocm)):
        producer = found.producer.statement.name if found.producer is not None else ""
        yield TimingViolation(
            (found.edge_id, producer, found.consumer.statement.name),
            found.consumer,
            f"{found.edge.rule}: {found.edge.title} at '{found.consumer.statement.text}'",
        )


def _as_json(comparison: Comparison) -> str:
    blocks = [
        {
            "label": block.label,
            "line": block.line,
            "answer": block.answer,
            "reason": block.reason,
            "counterexample": _counterexample(block.counterexample),
        }
        for block in comparison.blocks
    ]
    return json.dumps({"answer": comparison.answer, "blocks": blocks}, indent=2)


def _counterexample(found: Counterexample | None) -> dict[str, object] | None:
    if found is None:
        return None
    inputs = {
        name: [f"0x{one:x}" for one in value] if isinstance(value, tuple) else f"0x{value:x}"
        for name, value in found.inputs.items()
    }
    return {
        "register": found.register,
        "lane": found.lane,
        "inputs": inputs,
        "old": f"0x{found.old:x}",
        "new": f"0x{found.new:x}",
    }


def _as_text(comparison: Comparison, new: Path) -> str:
    if not comparison.blocks:
        return "proved: no block differs"
    lines = [line for block in comparison.blocks for line in _block_lines(block, new)]
    counts = {name: sum(block.answer == name for block in comparison.blocks) for name in _ORDER}
    summary = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    return "\n".join([*lines, f"{comparison.answer.replace('_', ' ')}: {summary}"])


_ORDER = ("proved", "refuted", "not_proved", "out_of_scope")


def _block_lines(block: BlockAnswer, new: Path) -> Iterable[str]:
    reason = f": {block.reason}" if block.reason else ""
    yield f"{new}:{block.line}: {block.label}: {block.answer.replace('_', ' ')}{reason}"
    found = _counterexample(block.counterexample)
    if found is not None:
        lane = "" if found["lane"] is None else f" in lane {found['lane']}"
        yield f"    {found['register']}{lane}: old {found['old']}, new {found['new']}, with"
        inputs = found["inputs"]
        assert isinstance(inputs, dict)
        for name, value in inputs.items():
            shown = " ".join(value) if isinstance(value, list) else value
            yield f"      {name} = {shown}"
