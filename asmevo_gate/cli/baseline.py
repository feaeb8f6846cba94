"""``asmevo-gate baseline``: the ratchet for legacy code."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("baseline")
def command() -> None:
    """Write or show the list of known findings that do not fail the gate."""


@command.command("write")
@click.argument("paths", nargs=-1)
@click.option("--output", "output", default="asmevo-baseline.json", show_default=True, metavar="FILE")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="Check for this GPU whatever the files say.")
def write(paths: tuple[str, ...], output: str, gpus: tuple[str, ...]) -> int:
    """Record every finding of the tracked assembly files (or of PATHS) as known."""
    from asmevo_gate.changes import named_files, tracked_files
    from asmevo_gate.file_writing import write_text
    from asmevo_gate.gate.baseline import make_baseline
    from asmevo_gate.gate.run import Request, run_gate
    from asmevo_gate.gate.settings import load_settings

    here = Path.cwd()
    settings = load_settings(here)
    changes = named_files(paths, here, settings.selection) if paths else tracked_files(here, settings.selection)
    with changes:
        report = run_gate(changes, settings, Request(gpus=gpus, named=bool(paths), count_known=True))
    write_text(Path(output), make_baseline(report.findings).decode())
    click.echo(f"{output}: {len(report.findings)} findings are known now")
    return 0


@command.command("show")
@click.argument("file", default="asmevo-baseline.json")
def show(file: str) -> int:
    """List the known findings of a baseline file."""
    from asmevo_gate.gate.baseline import read_baseline

    for known in read_baseline(Path(file)).findings:
        click.echo(f"{known.file}: {known.kernel or '-'}: {known.rule}: {known.message}")
    return 0
