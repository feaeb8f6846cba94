"""``asmevo-gate check``: changed kernels in, verdict out."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from asmevo_gate.errors import UsageError

if TYPE_CHECKING:
    from asmevo_gate.changes.model import ChangeSet, Selection
    from asmevo_gate.gate.result import Report
    from asmevo_gate.gate.settings import Settings
    from asmevo_gate.rules.rule import Severity


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
    verbose: bool,
) -> int:
    """Check kernels: the staged changes (without arguments), a range (--base), files, or standard input (-)."""
    from asmevo_gate.gate.settings import load_settings

    here = Path.cwd()
    settings = load_settings(here)
    with _changes(paths, base, head, here, settings.selection) as changes:
        if not changes.changes and not outputs and format_ == "terminal" and not verbose:
            return 0
        report = _run(changes, settings, paths, base, gpus, rocm, defines, fail_on, baseline, assemble)
        _write(report, changes, format_, outputs, fail_on or settings.fail_on, verbose)
    from asmevo_gate.gate.verdict import exit_code

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


def _run(
    changes: ChangeSet,
    settings: Settings,
    paths: tuple[str, ...],
    base: str | None,
    gpus: tuple[str, ...],
    rocm: str | None,
    defines: tuple[str, ...],
    fail_on: str | None,
    baseline: str | None,
    assemble: bool,
) -> Report:
    from asmevo_gate.gate.baseline import read_baseline
    from asmevo_gate.gate.run import Request, run_gate

    by_hand = bool(paths) and not base and not _run_by_pre_commit()
    request = Request(
        gpus=gpus,
        rocm=rocm or settings.rocm,
        fail_on=_severity(fail_on or settings.fail_on),
        named=by_hand,
        count_known=by_hand,
        defines=tuple(_definition(text) for text in defines),
        assemble=assemble,
        command=_command_line(sys.argv[1:]),
    )
    baseline_path = Path(baseline) if baseline else settings.baseline
    return run_gate(changes, settings, request, read_baseline(baseline_path) if baseline_path else None)


def _run_by_pre_commit() -> bool:
    """pre-commit sets this for every hook (pre_commit/commands/run.py)."""
    return os.environ.get("PRE_COMMIT") == "1"


def _severity(text: str) -> Severity | None:
    return None if text == "never" else cast("Severity", text)


def _definition(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    try:
        return name.strip(), int(value, 0) if equals else 1
    except ValueError as error:
        raise UsageError(f"-D {text}: the value is no integer", "write -D NAME=16 or -D NAME=0x10") from error


def _command_line(arguments: list[str]) -> str:
    return shlex.join(["asmevo-gate", *arguments])


def _write(
    report: Report, changes: ChangeSet, format_: str, outputs: tuple[str, ...], fail_on: str, verbose: bool
) -> None:
    from asmevo_gate.report.context import RenderContext, rule_help
    from asmevo_gate.report.formats import format_name, renderer
    from asmevo_gate.report.writing import parse_outputs, write_outputs
    from asmevo_gate.rules.registry import all_rules

    context = RenderContext(
        root=str(changes.root),
        rules=rule_help(type(rule) for rule in all_rules()),
        sources=_sources(report, changes),
        fail_on=_severity(fail_on),
        colour=sys.stdout.isatty(),
        verbose=verbose,
    )
    shown = renderer(format_name(format_))(report, context)
    write_outputs(parse_outputs(outputs), report, context)
    click.echo(shown, nl=False)


def _sources(report: Report, changes: ChangeSet) -> dict[str, str]:
    """Text at head of the files that findings are in, for excerpts."""
    wanted = {finding.file for finding in report.findings}
    return {
        change.path: change.head.data.decode("utf-8", "replace")
        for change in changes.changes
        if change.head is not None and change.path in wanted
    }
