"""``asmevo-gate merge``: the JSON reports of several jobs in, one report and its verdict out."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from asmevo_gate.errors import UsageError


@click.command("merge")
@click.argument("reports", nargs=-1, required=True, metavar="REPORT.json...")
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
    help="Least severity that fails the gate, as in the jobs (default: as the settings say).",
)
@click.option("--allow-not-checked", is_flag=True, help="Exit 0 also when part of the code could not be modelled.")
@click.option("--verbose", "-v", is_flag=True, help="Show the numbers also when the gate passes.")
def command(
    reports: tuple[str, ...],
    format_: str,
    outputs: tuple[str, ...],
    fail_on: str | None,
    allow_not_checked: bool,
    verbose: bool,
) -> int:
    """Put the reports of the parts of a run (--shard), or of jobs for different files or GPUs, together and decide."""
    from asmevo_gate.cli.checking import Options
    from asmevo_gate.cli.checking import fail_on as least_severity
    from asmevo_gate.gate.merging import merge_reports, read_report
    from asmevo_gate.gate.settings import load_settings
    from asmevo_gate.gate.verdict import exit_code
    from asmevo_gate.report.context import RenderContext, rule_help
    from asmevo_gate.report.formats import format_name, renderer
    from asmevo_gate.report.writing import parse_outputs, write_outputs
    from asmevo_gate.rules.registry import all_rules

    settings = load_settings(Path.cwd())
    wanted = parse_outputs(outputs)
    render = renderer(format_name(format_))
    severity = least_severity(Options(fail_on=fail_on), settings)
    merged = merge_reports([read_report(_content(name), name) for name in reports], severity)
    context = RenderContext(
        root=str(settings.root),
        rules=rule_help(type(rule) for rule in all_rules()),
        fail_on=severity,
        colour=sys.stdout.isatty(),
        verbose=verbose,
    )
    text = render(merged, context)
    write_outputs(wanted, merged, context)
    click.echo(text, nl=False)
    return exit_code(merged.verdict, merged.execution, allow_not_checked or settings.allow_not_checked)


def _content(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"the report cannot be read: {error.strerror or error}", "check the name", name) from error
