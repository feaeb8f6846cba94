"""``asmevo-gate hardware``: profiler results of two versions in, a judgement of each kernel out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from asmevo_gate.verify.hardware import Judgement, KernelJudgement

_WORDS = {"pass": "pass", "fail": "FAIL", "not_measured": "not measured"}


@click.command("hardware")
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Judge this kernel only (repeatable).")
@click.option("--valu-up", type=float, metavar="PERCENT", help="VALU utilisation must grow by this.")
@click.option("--lds-within", type=click.FloatRange(0), metavar="PERCENT", help="LDS utilisation may change by this.")
@click.option("--busy-up", type=float, metavar="PERCENT", help="GPU busy must grow by this.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    base: Path,
    new: Path,
    kernels: tuple[str, ...],
    valu_up: float | None,
    lds_within: float | None,
    busy_up: float | None,
    format_: str,
) -> int:
    """Judge measurements of BASE and NEW: files or directories of rocprof or rocprofv3 (CSV or JSON).

    Thresholds are relative changes in percent; the settings (hardware) give them, options win.

    Exit code: 0 every kernel passes, 1 one fails or is not measured, 2 the files could not be read.
    """
    from asmevo_gate.errors import UsageError
    from asmevo_gate.gate.settings import load_settings
    from asmevo_gate.verify.hardware import judge, overall, read_measurements

    limits = load_settings(Path.cwd()).hardware
    given = {"valu_utilisation_up": valu_up, "lds_utilisation_within": lds_within, "busy_up": busy_up}
    limits = limits._replace(**{name: value for name, value in given.items() if value is not None})
    found = judge(read_measurements(base), read_measurements(new), limits)
    unknown = set(kernels) - {one.kernel for one in found}
    if unknown:
        raise UsageError(f"no kernel {sorted(unknown)[0]!r} was measured", "name a kernel as the profiler does")
    chosen = tuple(one for one in found if not kernels or one.kernel in kernels)
    verdict = overall(chosen)
    if format_ == "json":
        document = {
            "schema": "asmevo-gate/hardware/1",
            "verdict": verdict,
            "thresholds": limits._asdict(),
            "kernels": [asdict(one) for one in chosen],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        for one in chosen:
            for line in _lines(one):
                click.echo(line)
        click.echo(f"hardware level: {_WORDS[verdict]}")
    return 0 if verdict == "pass" else 1


def _lines(one: KernelJudgement) -> Iterator[str]:
    duration = "" if one.duration_change is None else f", mean duration {one.duration_change:+.1f} %"
    yield f"{click.unstyle(one.kernel)!s}: {_WORDS[one.verdict]}{duration}"
    for judgement in one.judgements:
        yield f"    {_judgement(judgement)}"


def _judgement(one: Judgement) -> str:
    from asmevo_gate.verify.hardware import METRICS

    title = METRICS[one.metric].title
    if one.change is None:
        return f"{title}: {_WORDS[one.verdict]}: {one.reason}"
    return f"{title}: {_WORDS[one.verdict]}: {one.base:.4g} -> {one.new:.4g} ({one.change:+.1f} %, {one.demand})"
