"""What changed in a kernel's numbers, in words: which way, by how much, better or worse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from asmevo_gate.cost.interval import Interval
from asmevo_gate.report.text import clipped, one_line

if TYPE_CHECKING:
    from asmevo_gate.gate.result import KernelReport, Metrics, Report

Number = int | float | Interval
Word = Literal["worse", "better", "more", "fewer", "same", "not clear", "not known", "new"]


class Metric(msgspec.Struct, frozen=True):
    """A number of ``Metrics``: how it is called, its unit, and which way is better (``None``: neither)."""

    name: str
    label: str
    unit: str
    better: Literal["lower", "higher"] | None


METRICS = (
    Metric("occupancy_waves_per_simd", "occupancy", "waves/SIMD", "higher"),
    Metric("vgpr_live_max", "live VGPRs (max)", "", "lower"),
    Metric("vgpr_allocated", "VGPRs allocated", "", "lower"),
    Metric("agpr_allocated", "AGPRs allocated", "", "lower"),
    Metric("sgpr_allocated", "SGPRs allocated", "", "lower"),
    Metric("lds_bytes", "LDS", "bytes", "lower"),
    Metric("scratch_bytes", "scratch", "bytes", "lower"),
    Metric("cycles", "cycles (estimate)", "", "lower"),
    Metric("ipc", "IPC (estimate)", "", "higher"),
    Metric("instructions", "instructions", "", None),
)
CYCLES_NOTE = "Cycles: estimated clk a wave, each loop once; a range is from memory at its best to its worst."
_LABEL = 60
"""Characters of a block's label that a report shows."""
_WORD_RANK: dict[Word, int] = {
    "worse": 0, "not clear": 1, "not known": 1, "better": 2, "more": 3, "fewer": 3, "new": 4, "same": 5,
}  # fmt: skip


class Change(msgspec.Struct, frozen=True):
    """One metric of one kernel at base and at head; ``None`` stands for a number that is not known."""

    kernel: KernelReport
    metric: Metric
    base: Number | None
    head: Number | None
    word: Word

    @property
    def difference(self) -> float | None:
        """``head - base``, intervals by their middle."""
        if self.base is None or self.head is None:
            return None
        return middle(self.head) - middle(self.base)

    @property
    def arrow(self) -> str:
        """``▲`` up, ``▼`` down, ``=`` the same, ``•`` where there is no direction."""
        difference = self.difference
        if difference is None:
            return "•"
        return "▲" if difference > 0 else "▼" if difference < 0 else "="

    @property
    def amount(self) -> str:
        """The signed difference, and its share of base where that says something: ``+8 (+33 %)``."""
        difference = self.difference
        if difference is None:
            return ""
        signed = f"{'+' if difference > 0 else '-' if difference < 0 else ''}{number_text(abs(difference))}"
        if difference == 0 or self.base_middle <= 0:
            return signed
        return f"{signed} ({difference / self.base_middle * 100:+.0f} %)"

    @property
    def base_middle(self) -> float:
        """The number at base, an interval by its middle; 0 where it is not known."""
        return middle(self.base) if self.base is not None else 0.0


def middle(number: Number) -> float:
    """The number itself, or the middle of an interval."""
    return (number.low + number.high) / 2 if isinstance(number, Interval) else float(number)


def number_text(number: Number | None) -> str:
    """``24``, ``1.5``, ``120 to 180``; ``not known`` for ``None``."""
    if number is None:
        return "not known"
    if isinstance(number, Interval):
        return f"{number_text(number.low)} to {number_text(number.high)}"
    if isinstance(number, int) or (abs(number) < 1e15 and number == int(number)):
        return str(int(number))
    return f"{number:.3g}" if abs(number) < 100 else f"{number:.1f}"


def kernel_changes(kernel: KernelReport) -> list[Change]:
    """A change for each metric that is known at head or at base, in the order of ``METRICS``."""
    changes = []
    for metric in METRICS:
        head = known_value(kernel.metrics, metric.name)
        base = known_value(kernel.base, metric.name) if kernel.base is not None else None
        if head is None and base is None:
            continue
        word: Word = "new" if kernel.base is None else _word(metric, base, head)
        changes.append(Change(kernel, metric, base, head, word))
    return changes


def changed_metrics(report: Report) -> list[Change]:
    """Every metric that differs from base, and the hot block of each kernel; worse ones first, then by kernel."""
    compared = [kernel for kernel in report.kernels if kernel.base is not None]
    changes = [c for k in compared for c in (*kernel_changes(k), *hot_block_changes(k)) if c.word != "same"]
    return worst_first(changes)


def tells_cycles(changes: Iterable[Change]) -> bool:
    """Whether one of the changes is a number of cycles, which :data:`CYCLES_NOTE` explains."""
    return any(change.metric.name in ("cycles", "block_cycles") for change in changes)


def worst_first(changes: Iterable[Change]) -> list[Change]:
    """Worse ones, then those that are not clear, then better ones, then the rest."""
    return sorted(changes, key=lambda change: _WORD_RANK[change.word])


def hot_block_changes(kernel: KernelReport) -> list[Change]:
    """Cycles and IPC of the block in the innermost loop, else the longest one, of those where they differ from base."""
    differing = [
        block
        for block in kernel.blocks
        if block.cycles is not None and block.base_cycles is not None and block.cycles != block.base_cycles
    ]
    hot = max(differing, key=lambda block: (block.loop_depth, middle(block.cycles or 0)), default=None)
    if hot is None:
        return []
    name = f"block {clipped(one_line(hot.label), _LABEL)}" if hot.label else f"the block at line {hot.line}"
    cycles = Metric("block_cycles", f"cycles of {name}", "", "lower")
    ipc = Metric("block_ipc", f"IPC of {name}", "", "higher")
    return [
        Change(kernel, cycles, hot.base_cycles, hot.cycles, _word(cycles, hot.base_cycles, hot.cycles)),
        Change(kernel, ipc, hot.base_ipc, hot.ipc, _word(ipc, hot.base_ipc, hot.ipc)),
    ]


def new_kernels(report: Report) -> list[KernelReport]:
    """Kernels that base does not have (all of them when there is no base)."""
    return [kernel for kernel in report.kernels if kernel.base is None]


def unchanged_kernels(report: Report) -> int:
    """How many kernels have the same numbers as at base."""
    return sum(1 for k in report.kernels if k.base is not None and all(c.word == "same" for c in kernel_changes(k)))


def metrics_line(kernel: KernelReport) -> str:
    """The head numbers on one line: ``occupancy 8 waves/SIMD, VGPRs allocated 24``."""
    return ", ".join(
        f"{c.metric.label} {number_text(c.head)}{' ' + c.metric.unit if c.metric.unit else ''}"
        for c in kernel_changes(kernel)
        if c.head is not None
    )


def known_value(metrics: Metrics | None, name: str) -> Number | None:
    """The number under that name, ``None`` where it is not known or not finite."""
    value: Number | None = getattr(metrics, name)
    bounds = (value.low, value.high) if isinstance(value, Interval) else (value,)
    finite = all(bound is not None and abs(bound) < float("inf") for bound in bounds)  # NaN compares false
    return value if finite else None


def _word(metric: Metric, base: Number | None, head: Number | None) -> Word:
    """Better or worse. Intervals are compared end with end: an end is the same behaviour of memory on both sides."""
    if base is None or head is None:
        return "not known"
    if base == head:
        return "same"
    moves = [after - before for before, after in zip(_bounds(base), _bounds(head), strict=True)]
    if min(moves) < 0 < max(moves):
        return "not clear"
    rises = max(moves) > 0
    if metric.better is None:
        return "more" if rises else "fewer"
    return "better" if rises == (metric.better == "higher") else "worse"


def _bounds(number: Number) -> tuple[float, float]:
    return (number.low, number.high) if isinstance(number, Interval) else (float(number), float(number))
