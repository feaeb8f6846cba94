"""``asmevo-gate check``: changed kernels in, verdict out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asmevo_gate.cli.execution_options import ExecutionOptions, execution_options
from asmevo_gate.errors import UsageError

if TYPE_CHECKING:
    from asmevo_gate.changes.model import ChangeSet, Selection
    from asmevo_gate.cli.checking import Checked, Pictures
    from asmevo_gate.gate.settings import Settings


@click.command("check")
@click.argument("paths", nargs=-1)
@click.option("--base", metavar="REV", help="Compare with the merge base of REV and head.")
@click.option("--head", metavar="REV", help="The commit to check (default: the work tree's HEAD).")
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU",
    help="Check for this GPU whatever the file says (repeatable).",
)
@click.option("--rocm", metavar="VERSION", help="ROCm version whose constraint files hold.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME=VALUE", help="Define an assembler symbol.")
@click.option("--format", "format_", default="terminal", show_default=True, help="Format on standard output.")
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT=PATH",
    help="Also write this format to a file (repeatable).",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    help="Least severity that fails the gate.",
)
@click.option("--baseline", metavar="FILE", help="Known findings that do not fail the gate.")
@click.option("--allow-not-checked", is_flag=True, help="Exit 0 also when part of the code could not be modelled.")
@click.option(
    "--assemble/--no-assemble", default=True, show_default=True, help="Also assemble, when an assembler is at hand."
)
@execution_options
@click.option("--debug-constraint", is_flag=True, help="Explain each broken hazard edge on standard error.")
@click.option("--verbose", "-v", is_flag=True, help="Show the numbers also when the gate passes.")
def command(
    paths: tuple[str, ...],
    base: str | None,
    head: str | None,
    gpus: tuple[str, ...],
    rocm: str | None,
    defines: tuple[str, ...],
    format_: str,
    outputs: tuple[str, ...],
    fail_on: str | None,
    baseline: str | None,
    allow_not_checked: bool,
    assemble: bool,
    jobs: int | None,
    executor: str | None,
    cache: bool,
    shard: str | None,
    time_limit: float | None,
    debug_constraint: bool,
    verbose: bool,
) -> int:
    """Check kernels: the staged changes (without arguments), a range (--base), files, or standard input (-)."""
    from asmevo_gate.gate.settings import load_settings

    here = Path.cwd()
    settings = load_settings(here)
    with _changes(paths, base, head, here, settings.selection) as changes:
        if not changes.changes and not outputs and format_ == "terminal" and not verbose:
            return 0
        from asmevo_gate.cli.checking import Options, Pictures, needs_pictures, run_check

        execution = ExecutionOptions(jobs, executor, cache, shard, time_limit)
        options = Options(gpus, rocm, defines, fail_on, baseline, assemble, execution)
        by_hand = bool(paths) and not base and not _run_by_pre_commit()
        pictures = Pictures(
            wanted=verbose or needs_pictures([format_, *outputs, *settings.reports]), explain=debug_constraint
        )
        checked = run_check(changes, settings, options, named=by_hand, pictures=pictures)
        _write(checked, changes, settings, format_, outputs, verbose, pictures)
    from asmevo_gate.gate.verdict import exit_code

    report = checked.report
    return exit_code(report.verdict, report.execution, allow_not_checked or settings.allow_not_checked)


def _changes(paths: tuple[str, ...], base: str | None, head: str | None, here: Path, selection: Selection) -> ChangeSet:
    from asmevo_gate.changes import hook_changes, named_files, range_changes, staged_changes, standard_input

    if head and not base:
        raise UsageError("--head needs --base", "name the revision to compare with: --base main")
    if "-" in paths:
        if len(paths) > 1 or base:
            raise UsageError("standard input (-) is checked alone", "leave out the other files and --base")
        return standard_input(sys.stdin.buffer, "<stdin>", here, selection)
    if base:
        return range_changes(here, base, head, selection)
    if paths:
        return hook_changes(paths, here, selection) if _run_by_pre_commit() else named_files(paths, here, selection)
    return staged_changes(here, selection)


def _run_by_pre_commit() -> bool:
    """pre-commit sets this for every hook (pre_commit/commands/run.py)."""
    return os.environ.get("PRE_COMMIT") == "1"


def _write(
    checked: Checked,
    changes: ChangeSet,
    settings: Settings,
    format_: str,
    outputs: tuple[str, ...],
    verbose: bool,
    pictures: Pictures,
) -> None:
    from asmevo_gate.cli.checking import render_context, settings_outputs
    from asmevo_gate.report.formats import format_name, renderer
    from asmevo_gate.report.writing import parse_outputs, write_outputs

    context = render_context(checked.report, changes, checked.request.fail_on, verbose, pictures.drawn)
    shown = renderer(format_name(format_))(checked.report, context)
    wanted = parse_outputs(outputs)
    if not _run_by_pre_commit():  # a hook that checks leaves the work tree as it is
        wanted += settings_outputs(settings, wanted)
    write_outputs(wanted, checked.report, context)
    click.echo(shown, nl=False)
