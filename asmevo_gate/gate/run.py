"""One run of the gate: changed files in, one :class:`Report` out."""

from __future__ import annotations

import hashlib

from asmevo_gate import __version__
from asmevo_gate.changes.model import Change, ChangeSet
from asmevo_gate.gate.baseline import Baseline
from asmevo_gate.gate.change_check import Request, constraint_graph, source_options
from asmevo_gate.gate.comparison import mark_new
from asmevo_gate.gate.data_version import data_version
from asmevo_gate.gate.execution import IN_PROCESS, Execution, check_all
from asmevo_gate.gate.result import Coverage, Input, Report, Shard, Tool, Unknown
from asmevo_gate.gate.settings import Settings
from asmevo_gate.gate.shards import part_of
from asmevo_gate.gate.verdict import decide

__all__ = ["Request", "constraint_graph", "run_gate", "source_options"]


def run_gate(
    changes: ChangeSet,
    settings: Settings,
    request: Request,
    baseline: Baseline | None = None,
    execution: Execution = IN_PROCESS,
    shard: Shard | None = None,
) -> Report:
    """Check every changed file at base and head and decide. ``shard``: only its part of the files.

    The report is the same whatever the execution. A file that took too long, or whose worker was lost twice, is named
    in ``coverage.unknown``; ``execution`` of the report then says that the work was not done.

    Raises:
        GateError: the work could not be done (unreadable input, unknown GPU, exceeded limit ...).
    """
    chosen = changes.changes if shard is None else part_of(changes.changes, shard)
    checked = check_all(chosen, changes, settings, request, execution)
    results = checked.results
    if request.draw is not None:
        for result in results:
            for picture in result.pictures:
                request.draw(picture)
    findings = tuple(finding for result in results for finding in result.findings)
    if baseline is not None:
        findings = mark_new(findings, baseline.fingerprints)
    coverage = Coverage(
        instructions=sum(result.coverage.instructions for result in results),
        modelled=sum(result.coverage.modelled for result in results),
        unknown=tuple(unknown for result in results for unknown in result.coverage.unknown),
    )
    skipped = [Unknown(path, 0, "", reason) for path, reason in changes.skipped]
    skipped += [result.skipped for result in results if result.skipped is not None]
    partial = shard is not None and checked.execution == "complete"
    return Report(
        tool=Tool("asmevo-gate", __version__, data_version()),
        verdict=decide(findings, coverage, request.fail_on),
        execution="partial" if partial else checked.execution,
        coverage=coverage,
        findings=findings,
        kernels=tuple(kernel for result in results for kernel in result.kernels),
        skipped=tuple(skipped),
        command=request.command,
        inputs=tuple(_input(change) for change in chosen if change.head is not None),
        shard=shard,
    )


def _input(change: Change) -> Input:
    head = hashlib.sha256(change.head.data if change.head else b"").hexdigest()
    base = hashlib.sha256(change.base.data).hexdigest() if change.base else None
    return Input(change.path, head, base)
