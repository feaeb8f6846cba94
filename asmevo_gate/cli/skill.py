"""``asm-evo-skill``: one kernel in, the kernel with every proved rewrite out, and a log of each step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asmevo_gate import __version__
from asmevo_gate.cli.model_options import asking_options, choice_options, model_proposer, running
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.file_writing import write_bytes

if TYPE_CHECKING:
    from asmevo_gate.gate.rewriting import FileRewrite, GateJudge
    from asmevo_gate.isa.targets import Target
    from asmevo_gate.program.model import Block, Function, Program
    from asmevo_gate.rewrite.acceptance import Acceptance, Rejection
    from asmevo_gate.rewrite.model_proposer import ModelProposer
    from asmevo_gate.rewrite.proposal import Proposer

_MOST_BYTES = 64 << 20
Log = Callable[[str], None]


@click.command("asm-evo-skill", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--input", "-i", "source", required=True, type=click.Path(path_type=Path), help="Assembly file to read.")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="File to write.")
@click.option("--gpu", metavar="GPU", help="GPU of the kernel (default: the file's own, then the installed one).")
@click.option("--rocm", metavar="VERSION", help="ROCm version whose constraints hold (default: the installed one).")
@click.option(
    "--constraints",
    "constraint_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Constraint file laid over the shipped one (repeatable).",
)
@click.option("--verbose", is_flag=True, help="Log every step as [INFO] lines.")
@click.option("--debug-constraint", is_flag=True, help="Log what constraints fail and why as [DEBUG] lines.")
@click.option("--no-mac-merge", is_flag=True, help="Keep a multiplication and an addition two instructions.")
@choice_options
@asking_options
@click.version_option(__version__, prog_name="asm-evo-skill")
def command(
    source: Path,
    output: Path,
    gpu: str | None,
    rocm: str | None,
    constraint_files: tuple[Path, ...],
    verbose: bool,
    debug_constraint: bool,
    no_mac_merge: bool,
    **asked: Any,
) -> int:
    """Rewrite the basic blocks of a kernel where that is proved to change nothing but the time it takes.

    A file in which nothing can be improved is copied byte for byte. Exit code: 0 the output is written, 2 it is not.
    """
    from asmevo_gate.gate.rewriting import rewrite_text
    from asmevo_gate.rewrite.proposal import RewriteOptions
    from asmevo_gate.rewrite.proposers import deterministic_proposers

    options = RewriteOptions(mac_merge=not no_mac_merge)
    proposers = deterministic_proposers(options)
    model = model_proposer(asked, "asm-evo-skill")
    data, text = _read(source)
    target, told = _target(source, text, gpu)
    version, version_told = _rocm(rocm)
    info: Log = (lambda line: click.echo(f"[INFO] {line}")) if verbose else (lambda line: None)
    debug: Log = (lambda line: click.echo(f"[DEBUG] {line}")) if debug_constraint else (lambda line: None)
    judge = _judge(source, target, version, constraint_files)
    program = judge.parse(text)
    instructions = sum(len(function.instructions) for function in program.functions)
    info(
        f"input parsed: {source}, {len(program.functions)} functions, {instructions} instructions,"
        f" GPU {target.name} ({told}), ROCm {version or 'unknown'} ({version_told})"
    )
    _existing_violations(program, judge, debug)
    with running(model) as added:
        result = rewrite_text(source.name, text, judge, options, (*proposers, *added))
    for line in _steps(program, result, proposers, model, debug):
        info(line)
    written = result.after.encode("utf-8") if result.after != result.before else data
    write_bytes(output, written)
    accepted = sum(1 for one in result.rewrites if one.state == "accepted")
    what = (
        f"{accepted} blocks rewritten, each proved" if accepted else "nothing could be improved: copied byte for byte"
    )
    info(f"output written: {output} ({what})")
    return 0


def _read(source: Path) -> tuple[bytes, str]:
    from asmevo_gate.errors import LimitError
    from asmevo_gate.source.recognise import decode_source

    try:
        if source.stat().st_size > _MOST_BYTES:
            raise LimitError(f"{source} is larger than {_MOST_BYTES >> 20} MiB", "split the file")
        data = source.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror}", "pass an assembly file with --input") from error
    text = decode_source(source.name, data)
    if text.encode("utf-8") != data:
        raise UsageError(f"{source} is not plain UTF-8", "convert the file to UTF-8")
    return data, text


def _target(source: Path, text: str, gpu: str | None) -> tuple[Target, str]:
    from asmevo_gate.gate.target_choice import named_target
    from asmevo_gate.isa.targets import parse_target
    from asmevo_gate.verify.installed_gpu import installed_gpu

    if gpu:
        return parse_target(gpu), "asked for"
    named = named_target(str(source), text)
    if named is not None:
        return named, "named in the file"
    found = installed_gpu()
    if found is None:
        raise UsageError(
            f"{source} names no GPU, and none was found on this machine", "pass --gpu, such as --gpu gfx90a"
        )
    return parse_target(found.value), f"found by {found.source}"


def _rocm(rocm: str | None) -> tuple[str, str]:
    from asmevo_gate.verify.installed_gpu import installed_rocm

    if rocm:
        return rocm, "asked for"
    found = installed_rocm()
    return (found.value, f"found in {found.source}") if found else ("", "none found: the newest constraint file holds")


def _judge(source: Path, target: Target, rocm: str, constraint_files: tuple[Path, ...]) -> GateJudge:
    from asmevo_gate.constraints.files import graph_for, lay_over, read_file
    from asmevo_gate.gate.rewriting import GateJudge
    from asmevo_gate.gate.target_choice import Configuration
    from asmevo_gate.source.options import SourceOptions
    from asmevo_gate.source.symbols import predefined_symbols

    way = Configuration(target, {}, (), None)
    options = SourceOptions(predefined=predefined_symbols(target.name), root=str(source.resolve().parent))
    graph = graph_for(target, rocm)
    for path in constraint_files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}", "pass a constraint file") from error
        graph = lay_over(graph, read_file(content, str(path)), str(path))
    return GateJudge(source.name, way, options, graph, frozenset())


def _existing_violations(program: Program, judge: GateJudge, debug: Log) -> None:
    """What the input violates already, edge by edge."""
    from asmevo_gate.constraints.engine import hazard_violations
    from asmevo_gate.constraints.explanation import explain

    for function in program.functions:
        for violation in hazard_violations(function, judge.graph, judge.profiles):
            found = explain(violation, judge.graph, function)
            line = violation.consumer.statement.outer_place.line
            debug(f"constraint violation at line {line}: {found.message}")
            debug(f"failed edge: {found.rule}")
            debug(f"condition: {found.condition}")
            states = [state for state in (found.producer_state, found.consumer_state) if state]
            debug(f"current state: {'; '.join(states)}")
            debug(f"why: {found.root_cause}")
            debug(f"root cause: {' -> '.join(found.path) or found.message}; repair: {found.repair}")


def _steps(
    program: Program, result: FileRewrite, proposers: tuple[Proposer, ...], model: ModelProposer | None, debug: Log
) -> Iterator[str]:
    """The log: every basic block with what was tried in it."""
    accepted: dict[tuple[str, int], list[Acceptance]] = {}
    rejected: dict[tuple[str, int], list[Rejection]] = {}
    for run in result.runs:
        for one in run.accepted:
            region = one.candidate.region
            accepted.setdefault((region.function.name, region.block), []).append(one)
    for failed in result.runs[-1].rejected:
        region = failed.candidate.region
        rejected.setdefault((region.function.name, region.block), []).append(failed)
    total = sum(len(function.blocks) for function in program.functions)
    number = 0
    for function in program.functions:
        constraints = _constraints(function)
        for block in function.blocks:
            number += 1
            yield f"basic blocks found: {total}; processing block {number} ({_place(function, block)})"
            yield f"constraints injected: {constraints}"
            names = ", ".join(proposer.name for proposer in proposers)
            key = function.name, block.number
            yield f"proposer: deterministic ({names}), {_model_used(model, key)}"
            yield from _outcome(accepted.get(key, []), rejected.get(key, []), debug)


def _model_used(model: ModelProposer | None, block: tuple[str, int]) -> str:
    if model is None:
        return "no model; context 0 of 0 tokens"
    state = f"model {model.model.name}" + (" (cannot be used)" if model.failure is not None else "")
    return f"{state}; context {model.context.get(block, 0)} of {model.model.options.context} tokens"


def _outcome(accepted: list[Acceptance], rejected: list[Rejection], debug: Log) -> Iterator[str]:
    for failed in rejected:
        yield f"rejected ({failed.class_}): {failed.candidate.title}: {failed.reason}"
        for detail in failed.detail:
            line = failed.candidate.region.instructions[0].statement.place.line
            debug(f"constraint violation at line {line} and on: {detail}")
    for one in accepted:
        yield (
            f"accepted: compliance check passed ({one.level} level), proved for {one.proof.registers} live registers:"
            f" {one.candidate.title}"
        )
        removed, inserted = _line_counts(one)
        gain = 100 * (one.new.ipc / one.old.ipc - 1) if one.old.ipc else 0.0
        yield (
            f"diff applied: {removed} lines removed, {inserted} moves inserted, estimated IPC gain {gain:+.1f} %"
            f" (cycles {one.old.cycles:g} -> {one.new.cycles:g})"
        )
    if not accepted and not rejected:
        yield "unchanged: no proposer found anything to improve"


def _line_counts(one: Acceptance) -> tuple[int, int]:
    from asmevo_gate.rewrite.edit_script import InsertMove

    removed = max(0, one.old.instructions - one.new.instructions)
    scripts = (proposal.script for proposal in one.candidate.proposals)
    return removed, sum(1 for script in scripts for edit in script if isinstance(edit, InsertMove))


def _place(function: Function, block: Block) -> str:
    first = function.instructions[block.first].statement.outer_place.line
    last = function.instructions[block.end - 1].statement.outer_place.line
    return f"{function.name}{f' {block.label}' if block.label else ''}, lines {first}-{last}"


def _constraints(function: Function) -> str:
    """What the fingerprint and the ISA table know of the target; "unknown" where there is no source."""
    from asmevo_gate.cost.fingerprint import load_fingerprint
    from asmevo_gate.isa.decoder import isa_for

    fingerprint = load_fingerprint(function.target.name)
    banks = fingerprint.registers.get("vgpr_banks")
    known = f"{banks.number:g}" if banks is not None and banks.known else "unknown"
    depth = fingerprint.rows["valu"].latency
    isa = isa_for(function.target, function.wave_size)
    with_dpp = sum(1 for name in isa.mnemonics() if any(form.startswith("dpp") for form in isa.forms(name)))
    return (
        f"{function.target.name}: VGPR banks {known},"
        f" VALU pipe depth {f'{depth.number:g} clk' if depth.known else 'unknown'},"
        f" DPP on {with_dpp} instructions"
    )


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and give its exit code."""
    try:
        result = command.main(arguments, prog_name="asm-evo-skill", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except GateError as error:
        click.echo(f"asm-evo-skill: {error}", err=True)
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    except click.ClickException as error:
        error.show()
    except (KeyboardInterrupt, click.Abort):
        click.echo("asm-evo-skill: interrupted; nothing was written", err=True)
    return 2


if __name__ == "__main__":
    main()
