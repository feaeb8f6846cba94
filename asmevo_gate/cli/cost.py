"""``asmevo-gate cost``: estimated cycles of every block and loop of a file."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("cost")
@click.argument("file")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="Estimate for this GPU whatever the file says.")
@click.option("--waves", type=click.IntRange(1, 64), help="Waves on each SIMD (default: the occupancy of each kernel).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, schema asmevo-gate/cost/1.")
@click.option("--timeline", is_flag=True, help="With --json: when each instruction of a block issues.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME=VALUE", help="Define an assembler symbol.")
def command(
    file: str, gpus: tuple[str, ...], waves: int | None, as_json: bool, timeline: bool, defines: tuple[str, ...]
) -> int:
    """Estimate the cycles of FILE (assembly source, a code object, or - for standard input)."""
    from asmevo_gate.cli.checking import definition
    from asmevo_gate.cost.kernel import kernel_cost
    from asmevo_gate.cost.summary import cost_document, cost_lines
    from asmevo_gate.gate.programs import programs_of

    programs = programs_of(file, Path.cwd(), gpus, dict(definition(text) for text in defines))
    costs = [kernel_cost(function, waves) for program in programs for function in program.functions]
    if as_json:
        import msgspec

        document = cost_document(costs, timeline=timeline)
        click.echo(msgspec.json.format(msgspec.json.encode(document)).decode())
        return 0
    for cost in costs:
        for line in cost_lines(cost):
            click.echo(line)
    return 0
