"""``asmevo-gate graph``: the constraint files and the graph that they make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from asmevo_gate.constraints.model import ConstraintGraph


@click.group("graph")
def command() -> None:
    """Check, show or export the constraint graph."""


@command.command("check")
@click.argument("files", nargs=-1)
@click.option(
    "--gpu", default="gfx942", show_default=True, metavar="GPU", help="Graph that project files are laid over."
)
@click.option("--rocm", default="", metavar="VERSION")
def check(files: tuple[str, ...], gpu: str, rocm: str) -> int:
    """Validate the shipped constraint files, or project FILES laid over a GPU's graph."""
    from asmevo_gate.constraints.graph_check import check_project_file, check_shipped

    problems = [one for file in files for one in check_project_file(Path(file), _graph(gpu, rocm))]
    problems += [] if files else check_shipped()
    for problem in problems:
        place = f"{problem.file}: {problem.place}" if problem.place else problem.file
        click.echo(f"{place}: {problem.message}", err=True)
    if not problems:
        click.echo("every constraint file is valid" if not files else "valid")
    return 1 if problems else 0


@command.command("show")
@click.argument("rule", required=False)
@click.option("--gpu", default="gfx942", show_default=True, metavar="GPU")
@click.option("--rocm", default="", metavar="VERSION")
def show(rule: str | None, gpu: str, rocm: str) -> int:
    """Print the edges of RULE, or the rules of the graph."""
    from asmevo_gate.constraints.graph_text import rule_ids
    from asmevo_gate.constraints.graph_text import show as edges_of

    graph = _graph(gpu, rocm)
    if rule is None:
        for one in rule_ids(graph):
            click.echo(one)
        return 0
    click.echo(edges_of(rule, graph))
    return 0


@command.command("export")
@click.option("--gpu", default="gfx942", show_default=True, metavar="GPU")
@click.option("--rocm", default="", metavar="VERSION")
@click.option("--output", default="constraint_graph.onnx", show_default=True, metavar="FILE")
def export(gpu: str, rocm: str, output: str) -> int:
    """Compile the graph to ONNX and write it to FILE (needs the package onnx)."""
    from asmevo_gate.constraints.compile_onnx import compile_graph
    from asmevo_gate.file_writing import write_bytes

    write_bytes(Path(output), compile_graph(_graph(gpu, rocm)))
    click.echo(f"{output}: the constraint graph of {gpu}")
    return 0


def _graph(gpu: str, rocm: str) -> ConstraintGraph:
    from asmevo_gate.constraints.files import graph_for
    from asmevo_gate.isa.targets import parse_target

    return graph_for(parse_target(gpu), rocm)
