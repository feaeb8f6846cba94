"""Who checks the files of a run: this process, a pool of processes, or a cluster; and what the cache already knows.

The results are in the order of the files and equal to the last byte, whoever made them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress

import msgspec

from asmevo_gate.changes.model import Change
from asmevo_gate.gate.cache import Cache, Keys
from asmevo_gate.gate.change_check import FileResult, Request, SideFiles, check_change
from asmevo_gate.gate.file_task import (
    CANNOT_BE_SENT,
    Done,
    Failed,
    Lost,
    Outcome,
    RecordedFiles,
    Setup,
    SideFile,
    Task,
    TimedOut,
    attempt,
    decode_outcome,
    encode,
    make_setup,
    make_task,
)
from asmevo_gate.gate.result import Coverage, Unknown
from asmevo_gate.gate.result import Execution as Completeness
from asmevo_gate.gate.settings import Settings
from asmevo_gate.gate.shards import size_of

FILE_SECONDS = 300.0
"""Time that the check of one file may take by default."""
PROCESSES_FROM_BYTES = 1 << 20
"""Less text than this is checked faster in this process than others are started."""

Say = Callable[[str], None]


def _silent(text: str) -> None:
    """Nobody listens."""


class Execution(msgspec.Struct, frozen=True):
    """How a run is executed. ``jobs`` is the number of processes (``None``: one a core where that pays, 1: this process
    alone); ``cluster`` the address of a Dask scheduler (``dask://HOST:PORT``) that takes their place; ``seconds`` the
    limit of time of one file (0: none); ``progress`` is told (files done, files in all); ``warn`` gets one line about
    what went wrong beside the result."""

    jobs: int | None = 1
    cluster: str = ""
    cache: Cache | None = None
    seconds: float = FILE_SECONDS
    progress: Callable[[int, int], None] | None = None
    warn: Say = _silent


IN_PROCESS = Execution()


class Pending(msgspec.Struct, frozen=True):
    """A file to check: its place in the order of results, its change and its task."""

    at: int
    change: Change
    task: Task


class Answer(msgspec.Struct, frozen=True):
    """The outcome of one file, with the files that it was made from beside its own bytes. ``outcome`` is ``None`` where
    the file cannot be sent to a worker. ``cacheable`` is false where it was made by other means than this process has
    (the tools of another machine)."""

    pending: Pending
    outcome: Outcome | None
    files: Sequence[SideFile] = ()
    cacheable: bool = True


class CheckedFiles(msgspec.Struct, frozen=True):
    """The results in the order of the files, and whether all the work was done."""

    results: tuple[FileResult, ...]
    execution: Completeness


def check_all(
    chosen: Sequence[Change], files: SideFiles, settings: Settings, request: Request, execution: Execution
) -> CheckedFiles:
    """Check files.

    Raises:
        GateError: one could not be checked; of several, the error of the first in order.
    """
    setup = make_setup(settings, request)
    results: list[FileResult | None] = [FileResult() if change.head is None else None for change in chosen]
    pending = [
        Pending(at, change, make_task(change, settings, execution.seconds))
        for at, change in enumerate(chosen)
        if change.head is not None
    ]
    cache = execution.cache if request.watch is None else None
    keys: dict[int, str] = {}
    if cache is not None:
        pending = _unknown(pending, setup, cache, files, keys, results)
    failed: dict[int, Failed] = {}
    worst: Completeness = "complete"
    total = len(chosen)
    with closing(_answers(pending, setup, files, settings, request, execution)) as answers:
        for number, answer in enumerate(answers, total - len(pending) + 1):
            at, outcome = answer.pending.at, answer.outcome
            assert outcome is not None
            if isinstance(outcome, Done):
                results[at] = outcome.result
                if cache is not None and at in keys and answer.cacheable and outcome.result.repeatable:
                    cache.put(keys[at], answer.files, outcome.result)
            elif isinstance(outcome, Failed):
                failed[at] = outcome
            else:
                results[at] = _not_done(answer.pending.change.path, outcome)
                worst = "error" if isinstance(outcome, Lost) or worst == "error" else "timed_out"
            if execution.progress is not None:
                execution.progress(number, total)
    if cache is not None:
        cache.close()
    if failed:
        raise failed[min(failed)].error()
    return CheckedFiles(tuple(result for result in results if result is not None), worst)


def _unknown(
    pending: list[Pending],
    setup: Setup,
    cache: Cache,
    files: SideFiles,
    keys: dict[int, str],
    results: list[FileResult | None],
) -> list[Pending]:
    """The files whose results the cache does not have; those that it has are put in their places."""
    try:
        names = Keys(setup)
    except CANNOT_BE_SENT:
        return pending
    left = []
    for one in pending:
        try:
            keys[one.at] = names.key(one.task)
        except CANNOT_BE_SENT:
            left.append(one)
            continue
        results[one.at] = cache.get(keys[one.at], files)
        if results[one.at] is None:
            left.append(one)
    return left


def _not_done(path: str, outcome: Outcome) -> FileResult:
    if isinstance(outcome, TimedOut):
        reason = f"not checked: it took longer than the limit of {outcome.seconds:g} s"
    else:
        assert isinstance(outcome, Lost)
        reason = f"not checked: {outcome.reason}"
    return FileResult(coverage=Coverage(unknown=(Unknown(path, 0, "", reason),)))


def _answers(
    pending: list[Pending],
    setup: Setup,
    files: SideFiles,
    settings: Settings,
    request: Request,
    execution: Execution,
) -> Generator[Answer, None, None]:
    """The answers as they come; of what is checked in this process, none after the first that failed."""
    here: list[Pending] = []
    sent = request.watch is None and _is_sent(pending, setup, execution)
    for answer in _sent(pending, setup, files, execution) if sent else ():
        if answer.outcome is None:
            here.append(answer.pending)
        else:
            yield answer
    if not sent:
        here = pending
    for one in here:
        yield (answer := _checked_here(one, files, settings, request))
        if isinstance(answer.outcome, Failed):
            return


def _sent(
    pending: list[Pending], setup: Setup, files: SideFiles, execution: Execution
) -> Generator[Answer, None, None]:
    """The answers of other processes."""
    if execution.cluster:
        from asmevo_gate.gate.cluster import in_cluster

        yield from in_cluster(pending, setup, files, execution.cluster, execution.warn)
    else:
        from asmevo_gate.gate.process_pool import in_processes

        yield from in_processes(pending, setup, files, _processes(pending, execution.jobs))


def _is_sent(pending: list[Pending], setup: Setup, execution: Execution) -> bool:
    if not pending or not (execution.cluster or _processes(pending, execution.jobs) > 1):
        return False
    try:
        encode(setup)
    except CANNOT_BE_SENT:
        return False
    return True


def _checked_here(one: Pending, files: SideFiles, settings: Settings, request: Request) -> Answer:
    recorded = RecordedFiles(files)
    outcome = attempt(lambda: check_change(one.change, recorded, settings, request), one.task.seconds)
    # Through a message like any other answer: a whole number where the contract has a fraction comes out the same.
    with suppress(*CANNOT_BE_SENT):
        outcome = decode_outcome(encode(outcome))
    return Answer(one, outcome, tuple(recorded.asked.values()))


def _processes(sent: list[Pending], jobs: int | None) -> int:
    if jobs is not None:
        return min(jobs, len(sent))
    if sum(size_of(one.change) for one in sent) < PROCESSES_FROM_BYTES:
        return 1
    return min(usable_cores(), len(sent))


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
