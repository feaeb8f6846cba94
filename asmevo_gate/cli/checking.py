"""What ``check`` and ``ci`` share: options into a request, one checked run, the report in its formats."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from asmevo_gate.cli.execution_options import ExecutionOptions
from asmevo_gate.errors import UsageError

if TYPE_CHECKING:
    from asmevo_gate.changes.model import ChangeSet
    from asmevo_gate.gate.picture import KernelPicture
    from asmevo_gate.gate.project_files import ProjectFiles
    from asmevo_gate.gate.result import Report
    from asmevo_gate.gate.run import Request
    from asmevo_gate.gate.settings import Settings
    from asmevo_gate.report.context import RenderContext
    from asmevo_gate.report.writing import Output
    from asmevo_gate.rules.facts import KernelFacts
    from asmevo_gate.rules.rule import Severity


class Options(NamedTuple):
    """Options of the command line that both commands have. What is not given is as the settings say."""

    gpus: tuple[str, ...] = ()
    rocm: str | None = None
    defines: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    assemble: bool = True
    execution: ExecutionOptions = ExecutionOptions()


def needs_pictures(formats: Iterable[str]) -> bool:
    """Whether one of the formats (or ``FORMAT=PATH`` outputs) shows pictures."""
    return any(text.partition("=")[0].strip().lower() in ("html", "markdown") for text in formats)


class Pictures:
    """The pictures of the kernels, where a format shows them (``wanted``); and what explains their broken hazard edges
    and house rules on standard error (``explain``)."""

    def __init__(self, wanted: bool, explain: bool = False) -> None:
        self.drawn: list[KernelPicture] = []
        self.draw = self.drawn.append if wanted else None
        self.watch = _explain_hazards if explain else None


def _explain_hazards(facts: KernelFacts) -> None:
    from asmevo_gate.constraints.explanation import explain, explain_house

    graph = facts.constraint_graph
    explanations = [explain(found, graph, facts.kernel) for found in facts.hazards]
    explanations += [explain_house(found, graph) for found in facts.house]
    for explanation in explanations:
        for line in explanation.lines():
            print(f"[DEBUG] {line}", file=sys.stderr)


class Checked(NamedTuple):
    """A run and what it ran with."""

    report: Report
    request: Request
    files: ProjectFiles


def run_check(
    changes: ChangeSet,
    settings: Settings,
    options: Options,
    *,
    read: Callable[[str], bytes | None] | None = None,
    named: bool = False,
    command: str | None = None,
    pictures: Pictures | None = None,
) -> Checked:
    """Check the changes. ``read`` gives the files that the settings name (``None``: from disk); ``named``: the user
    named the files to check; ``command`` repeats the run, where that is not the command line itself; ``pictures``
    gets the pictures of the kernels.

    Raises:
        UsageError: options, settings or a file that they name are wrong.
        GateError: the work could not be done.
    """
    from asmevo_gate.gate.known_names import check_settings
    from asmevo_gate.gate.project_files import read_project_files
    from asmevo_gate.gate.run import Request, run_gate
    from asmevo_gate.report.formats import FORMATS

    files = read_project_files(settings, read, Path(options.baseline) if options.baseline else None)
    check_settings(settings, files.constraints, FORMATS)
    request = Request(
        gpus=options.gpus,
        rocm=options.rocm or settings.rocm,
        fail_on=fail_on(options, settings),
        named=named,
        count_known=named,
        defines=tuple(definition(text) for text in options.defines),
        assemble=options.assemble,
        command=command or shlex.join(["asmevo-gate", *sys.argv[1:]]),
        constraints=files.constraints,
        watch=pictures.watch if pictures else None,
        draw=pictures.draw if pictures else None,
    )
    how = options.execution
    report = run_gate(changes, settings, request, files.baseline, how.execution(), how.shard_of_run())
    return Checked(report, request, files)


def fail_on(options: Options, settings: Settings) -> Severity | None:
    """The least severity that fails the gate; ``None``: none does."""
    chosen = options.fail_on or settings.fail_on
    return None if chosen == "never" else cast("Severity", chosen)


def render_context(
    report: Report,
    changes: ChangeSet,
    fails_from: Severity | None,
    verbose: bool,
    pictures: Iterable[KernelPicture] = (),
) -> RenderContext:
    """What renderers need beside the report."""
    from asmevo_gate.report.context import RenderContext, rule_help
    from asmevo_gate.rules.registry import all_rules

    return RenderContext(
        root=str(changes.root),
        rules=rule_help(type(rule) for rule in all_rules()),
        sources=_sources(report, changes),
        fail_on=fails_from,
        colour=sys.stdout.isatty(),
        verbose=verbose,
        pictures=tuple(pictures),
    )


def settings_outputs(settings: Settings, besides: Iterable[Output] = ()) -> list[Output]:
    """The reports that the settings ask for, but for formats that are written to another place anyway."""
    from asmevo_gate.report.writing import Output

    written = {output.format for output in besides}
    chosen = settings.reports.items()
    return [Output(name, str(settings.root / path)) for name, path in chosen if name not in written]


def definition(text: str) -> tuple[str, int]:
    """``NAME=VALUE`` or ``NAME`` (1) of a ``-D`` option. Raises ``UsageError`` when the value is no integer."""
    name, equals, value = text.partition("=")
    try:
        return name.strip(), int(value, 0) if equals else 1
    except ValueError as error:
        raise UsageError(f"-D {text}: the value is no integer", "write -D NAME=16 or -D NAME=0x10") from error


def _sources(report: Report, changes: ChangeSet) -> dict[str, str]:
    """Text at head of the files that findings and kernels are in, for excerpts and listings."""
    wanted = {finding.file for finding in report.findings} | {kernel.file for kernel in report.kernels}
    return {
        change.path: change.head.data.decode("utf-8", "replace")
        for change in changes.changes
        if change.head is not None and change.path in wanted
    }
