"""``asmevo-gate explain``: a rule, or what the gate knows about one line."""

from __future__ import annotations

from pathlib import Path

import click

from asmevo_gate.errors import UsageError


@click.command("explain")
@click.argument("rule_id", metavar="[RULE]", required=False)
@click.option("--at", "place", metavar="FILE:LINE", help="What the gate knows about the instruction at a line.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="GPU of the file, or whose constraint file to show.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME=VALUE", help="Define an assembler symbol.")
def command(rule_id: str | None, place: str | None, gpus: tuple[str, ...], defines: tuple[str, ...]) -> int:
    """Explain RULE: what it reports, why, how to repair it, examples, sources. Or explain a line (--at)."""
    if place is not None:
        return _explain_line(place, gpus, defines)
    if rule_id is None:
        raise UsageError("nothing to explain", "name a rule (see: asmevo-gate rules), or a line: --at kernel.s:87")
    click.echo(_rule_text(rule_id, gpus), nl=False)
    return 0


def _rule_text(rule_id: str, gpus: tuple[str, ...]) -> str:
    from asmevo_gate.constraints.files import graph_for
    from asmevo_gate.constraints.graph_text import rule_ids, show
    from asmevo_gate.isa.targets import parse_target, target_names
    from asmevo_gate.rules.documentation import rule_page
    from asmevo_gate.rules.registry import find_rule

    page = rule_page(find_rule(rule_id))
    for gpu in gpus or target_names():
        graph = graph_for(parse_target(gpu))
        if rule_id in rule_ids(graph):
            return f"{page}\n## On {gpu}\n\n{show(rule_id, graph)}\n"
    return page


def _explain_line(place: str, gpus: tuple[str, ...], defines: tuple[str, ...]) -> int:
    from asmevo_gate.cli.checking import definition
    from asmevo_gate.gate.line_facts import line_facts
    from asmevo_gate.gate.programs import programs_of

    file, colon, number = place.rpartition(":")
    if not colon or not number.isdigit():
        raise UsageError(f"--at {place}: expected FILE:LINE", "write --at kernel.s:87")
    programs = programs_of(file, Path.cwd(), gpus, dict(definition(text) for text in defines))
    lines = [line for program in programs for line in line_facts(program, int(number))]
    if not lines:
        raise UsageError(f"there is no instruction in line {number}", "name a line that holds one", file)
    click.echo("\n".join(lines))
    return 0
