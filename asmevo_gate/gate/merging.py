"""Reports of several jobs as one. Nothing is taken on trust: what contradicts itself or another is an error."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from asmevo_gate.errors import UsageError
from asmevo_gate.gate.result import SCHEMA, Coverage, Execution, Input, Report
from asmevo_gate.gate.verdict import decide
from asmevo_gate.rules.rule import Severity

_MAKE = "make it with: asmevo-gate check --output json=FILE"
_MOST_NAMED = 20
"""Missing parts that a message names."""
_One = TypeVar("_One")


class NamedReport(NamedTuple):
    """A report and the name of its file."""

    name: str
    report: Report


class _Version(msgspec.Struct, frozen=True):
    schema: str = ""


def read_report(content: bytes, name: str) -> NamedReport:
    """The report in the bytes of a JSON file.

    Raises:
        UsageError: it is no report, of another version of the schema, or has what this version does not know.
    """
    try:
        schema = msgspec.json.decode(content, type=_Version).schema
        if schema != SCHEMA:
            raise UsageError(f"the report has schema '{schema}', expected '{SCHEMA}'", _MAKE, name)
        report = msgspec.json.decode(content, type=Report)
        given, understood = msgspec.json.decode(content), msgspec.json.decode(msgspec.json.encode(report))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the report is malformed: {error}", _MAKE, name) from error
    if understood != given:
        raise UsageError(
            "the report has fields that this version does not know, or lacks some",
            "merge with the version of asmevo-gate that made it",
            name,
        )
    return NamedReport(name, report)


def merge_reports(named: Sequence[NamedReport], fail_on: Severity | None) -> Report:
    """One report of all. The verdict is decided anew, by ``fail_on``, and must have been decided so in each part.

    Raises:
        UsageError: a part is missing or there twice, the reports are of different versions of the gate, they
            contradict each other, or one has another verdict than its findings give.
    """
    if not named:
        raise UsageError("there is no report to merge", "name at least one")
    for one in named:
        _check_verdict(one, fail_on)
        _check_tool(named[0], one)
    parts = [one.report for one in named]
    sharded = _check_shards(named)
    _check_inputs(named)
    _check_kernels(named)
    findings = _together((part.findings for part in parts), sharded)
    coverage = Coverage(
        sum(part.coverage.instructions for part in parts),
        sum(part.coverage.modelled for part in parts),
        _together((part.coverage.unknown for part in parts), sharded),
    )
    return Report(
        tool=parts[0].tool,
        verdict=decide(findings, coverage, fail_on),
        execution=_execution(parts, sharded),
        coverage=coverage,
        findings=findings,
        kernels=tuple(kernel for part in parts for kernel in part.kernels),
        rewrites=_distinct(rewrite for part in parts for rewrite in part.rewrites),
        skipped=_distinct(skipped for part in parts for skipped in part.skipped),
        command=_whole_command(parts[0].command) if sharded else parts[0].command,
        inputs=_distinct(given for part in parts for given in part.inputs),
    )


def _check_verdict(one: NamedReport, fail_on: Severity | None) -> None:
    report = one.report
    decided = decide(report.findings, report.coverage, fail_on)
    if decided != report.verdict:
        raise UsageError(
            f"the report says '{report.verdict}', but its findings give '{decided}' by --fail-on {fail_on or 'never'}",
            "give the --fail-on of the job that made it",
            one.name,
        )


def _check_tool(first: NamedReport, other: NamedReport) -> None:
    if first.report.tool != other.report.tool:
        ours, theirs = (f"{tool.version}, data {tool.data_version}" for tool in (first.report.tool, other.report.tool))
        raise UsageError(
            f"made by another asmevo-gate ({theirs}) than {first.name} ({ours})", "use one in all jobs", other.name
        )


def _check_shards(named: Sequence[NamedReport]) -> bool:
    """Whether the reports are the parts of one run; then all of them must be there, each once."""
    first = named[0].report.shard
    seen: dict[int, str] = {}
    for name, report in named:
        if (report.shard is None) != (first is None) or (report.shard and first and report.shard.count != first.count):
            raise UsageError(f"not a part of the same run as {named[0].name}", "merge the parts of one run", name)
        if report.shard is not None:
            number = report.shard.number
            if number in seen:
                raise UsageError(f"part {number} is also in {seen[number]}", "merge each part once", name)
            seen[number] = name
    if first is None:
        return False
    # The count is what a report says: never a reason to make that many numbers.
    strange = next((number for number in seen if not 1 <= number <= first.count), None)
    if strange is not None:
        raise UsageError(f"part {strange} of {first.count} does not exist", _MAKE, seen[strange])
    if len(seen) < first.count:
        some = range(1, min(first.count, len(seen) + _MOST_NAMED) + 1)
        missing = ", ".join(str(number) for number in some if number not in seen)
        raise UsageError(f"part {missing} of {first.count} is missing", "merge the reports of all parts of the run")
    return True


def _check_inputs(named: Sequence[NamedReport]) -> None:
    known: dict[str, tuple[Input, str]] = {}
    for name, report in named:
        for given in report.inputs:
            before, where = known.setdefault(given.file, (given, name))
            if before != given:
                raise UsageError(f"'{given.file}' is not the same file in {where}", "merge reports of one commit", name)


def _check_kernels(named: Sequence[NamedReport]) -> None:
    """A kernel that two reports have would be counted twice."""
    known: dict[tuple[str, str, str], str] = {}
    for name, report in named:
        here = {(kernel.file, kernel.name, kernel.gpu) for kernel in report.kernels}
        for key in sorted(here & known.keys()):
            raise UsageError(
                f"'{key[1]}' of '{key[0]}' for {key[2]} is also in {known[key]}",
                "let one job check a file for a GPU",
                name,
            )
        known |= dict.fromkeys(here, name)


def _execution(parts: Sequence[Report], sharded: bool) -> Execution:
    worst: tuple[Execution, ...] = ("error", "timed_out", "partial")
    found = {part.execution for part in parts} - ({"partial"} if sharded else set())
    return next((one for one in worst if one in found), "complete")


def _whole_command(command: str) -> str:
    """The command of a part without ``--shard``."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    kept: list[str] = []
    for at, word in enumerate(words):
        if word != "--shard" and not word.startswith("--shard=") and words[at - 1 : at] != ["--shard"]:
            kept.append(word)
    return shlex.join(kept)


def _together(parts: Iterable[tuple[_One, ...]], sharded: bool) -> tuple[_One, ...]:
    """What several files of one run have alike is there as often as in an undivided run; what two jobs say of one file
    is there once."""
    values = (value for part in parts for value in part)
    return tuple(values) if sharded else _distinct(values)


def _distinct(values: Iterable[_One]) -> tuple[_One, ...]:
    """Each value once, in order of first appearance."""
    seen: dict[bytes, _One] = {}
    for value in values:
        seen.setdefault(msgspec.json.encode(value), value)
    return tuple(seen.values())
