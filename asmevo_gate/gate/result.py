"""The result of one run, as every renderer reads it: the published JSON contract ``asmevo-gate/report/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from asmevo_gate.cost.interval import Interval
from asmevo_gate.rules.rule import Family, Severity

SCHEMA = "asmevo-gate/report/1"

Verdict = Literal["pass", "warn", "fail", "not_checked"]
Execution = Literal["complete", "partial", "error", "timed_out"]


class Tool(msgspec.Struct, frozen=True):
    """Which tool made the report, and which facts it used."""

    name: str
    version: str
    data_version: str
    assembler: str | None = None


class Location(msgspec.Struct, frozen=True):
    """A line of a file with its text."""

    file: str
    line: int
    text: str


class Unknown(msgspec.Struct, frozen=True):
    """A line that the gate could not model, and why."""

    file: str
    line: int
    text: str
    reason: str


class Coverage(msgspec.Struct, frozen=True):
    """How much of the checked code was modelled."""

    instructions: int = 0
    modelled: int = 0
    unknown: tuple[Unknown, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """One broken rule at one place. Lines and columns are 1-based.

    ``new`` is false when base has a finding with the same ``fingerprint`` (rule + kernel + normalised instruction
    context, no line numbers). ``path`` leads from the producer to the place. ``macro`` is the chain of expansion.
    """

    rule: str
    family: Family
    severity: Severity
    file: str
    line: int
    column: int
    end_line: int
    kernel: str
    message: str
    repair: str = ""
    producer: Location | None = None
    path: tuple[Location, ...] = ()
    new: bool = True
    fingerprint: str = ""
    macro: tuple[Location, ...] = ()
    suppressed: str | None = None
    """The reason given in a suppression comment; a suppressed finding never decides the verdict."""
    text: str = ""
    """The line as it stands in ``file``, so that ``column`` points into it; empty when it is not known."""
    insertion: str = ""
    """A statement that repairs it on a line of its own before ``line``; empty where no single statement does."""
    gpu: str = ""
    """The target that the rule was checked for; empty for a finding that holds on every target."""


class Metrics(msgspec.Struct, frozen=True, omit_defaults=False):
    """Numbers of one kernel. ``None``: not known (never zero by default). Units as in the field names.

    ``cycles`` are the clk of its SIMD that one wave takes along the longest way through the kernel, each loop counted
    for one iteration, while as many waves as fit share the SIMD: a figure for comparing versions, also of different
    occupancy, and not a run time. ``ipc`` are instructions of all these waves a clk."""

    vgpr_live_max: int | None = None
    vgpr_allocated: int | None = None
    agpr_allocated: int | None = None
    sgpr_allocated: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    occupancy_waves_per_simd: int | None = None
    instructions: int | None = None
    cycles: float | Interval | None = None
    ipc: float | Interval | None = None


class BlockReport(msgspec.Struct, frozen=True):
    """One basic block of a kernel; ``cycles`` and ``ipc`` as in :class:`Metrics`, for one iteration of a block that is
    a loop by itself, and ``None`` where an instruction is not modelled. ``base_cycles`` and ``base_ipc`` are those
    of the same block at base: the one with its label, else the one with its instructions; ``None`` where there is
    none."""

    label: str
    line: int
    end_line: int
    instructions: int
    loop_depth: int
    cycles: float | Interval | None = None
    ipc: float | Interval | None = None
    limited_by: str | None = None
    base_cycles: float | Interval | None = None
    base_ipc: float | Interval | None = None


class KernelReport(msgspec.Struct, frozen=True):
    """One kernel at head, with the same kernel at base where there is one."""

    name: str
    file: str
    gpu: str
    metrics: Metrics
    base: Metrics | None = None
    delta: dict[str, int | float] | None = None
    """``head - base`` for each metric known on both sides; intervals by their middle."""
    blocks: tuple[BlockReport, ...] = ()


class Rewrite(msgspec.Struct, frozen=True):
    """A proposed rewrite of one region, accepted or rejected."""

    kernel: str
    region: str
    state: Literal["accepted", "rejected"]
    class_: str = msgspec.field(name="class")
    reason: str
    proof: str
    metrics: dict[str, float]
    patch: str


class Input(msgspec.Struct, frozen=True):
    """A file that was read, with the SHA-256 of its bytes at head and (where it exists there) at base."""

    file: str
    sha256: str
    base_sha256: str | None = None


class Shard(msgspec.Struct, frozen=True):
    """Part ``number`` (from 1) of ``count`` parts into which the files of a run are divided."""

    number: int
    count: int


class Report(msgspec.Struct, frozen=True):
    """Everything one run found."""

    tool: Tool
    verdict: Verdict
    execution: Execution
    coverage: Coverage
    findings: tuple[Finding, ...] = ()
    kernels: tuple[KernelReport, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    skipped: tuple[Unknown, ...] = ()
    """Files that are no AMDGPU assembly or could not be read as such, with the reason (line 0)."""
    command: str = ""
    """The command line that repeats the run, for the reproduce line of the reports."""
    inputs: tuple[Input, ...] = ()
    shard: Shard | None = None
    """Set where the run checked one part of the files; ``execution`` is then ``partial``, and the reports of all parts
    are merged into the one that decides."""
    schema: str = SCHEMA
