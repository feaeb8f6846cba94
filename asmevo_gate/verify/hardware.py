"""The hardware level: measurements of rocprof and rocprofv3 for two versions of a program, judged by thresholds.

Files are read by the names of their columns, whose order varies between versions: rocprof's counter table
(``KernelName``, one column a counter) and ``.stats.csv`` (``Name``, ``AverageNs``), rocprofv3's
``counter_collection.csv`` (``Kernel_Name``, ``Counter_Name``, ``Counter_Value``), ``kernel_stats.csv``,
``kernel_trace.csv``, and its JSON. Sources: ROCm documentation, "Using rocprof" and "Using rocprofv3".
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from asmevo_gate.errors import GateError, LimitError, UsageError
from asmevo_gate.verify.thresholds import Thresholds

MOST_BYTES = 256 << 20
MOST_ROWS = 2_000_000
MOST_COLUMNS = 4096
MOST_FILES = 256
MOST_NAMES = 100_000
Verdict = Literal["pass", "fail", "not_measured"]

DURATION = "duration_ns"
_DURATIONS = ("DurationNs", "Duration_Ns", "AverageNs", "Average (ns)")
_KERNEL = ("KernelName", "Kernel_Name", "Kernel Name", "Name")
_BEGIN_END = (("BeginNs", "EndNs"), ("Start_Timestamp", "End_Timestamp"))
_TIMESTAMP = re.compile(r"[0-9]{1,20}")
"""An unsigned number of 64 bits."""
_NO_COUNTERS = frozenset(
    [
        *("index", "gpu-id", "queue-id", "queue-index", "pid", "tid", "grd", "wgr", "lds", "scr", "arch_vgpr", "vgpr"),
        *("accum_vgpr", "sgpr", "wave_size", "sig", "obj", "calls", "percentage", "kind", "totaldurationns", "minns"),
        *("maxns", "stddev", "dispatchns", "completens", "beginns", "endns", "start_timestamp", "end_timestamp"),
    ]
)


class Metric(NamedTuple):
    """One judged figure: a derived counter of rocprof, or the quotient of two raw ones (up to a constant factor, which
    a comparison does not need)."""

    title: str
    counters: tuple[str, ...]
    quotient: tuple[str, str]


METRICS: dict[str, Metric] = {
    "valu_utilisation": Metric(
        "VALU utilisation", ("VALUUtilization",), ("SQ_THREAD_CYCLES_VALU", "SQ_ACTIVE_INST_VALU")
    ),
    "lds_utilisation": Metric("LDS utilisation", ("LDSUtil", "LdsUtil"), ("SQ_LDS_IDX_ACTIVE", "GRBM_GUI_ACTIVE")),
    "busy": Metric("GPU busy", ("GPUBusy",), ("GRBM_GUI_ACTIVE", "GRBM_COUNT")),
}


@dataclass
class Measured:
    """Means of one kernel over its dispatches."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """One more value of a counter."""
        self.sums[name] = self.sums.get(name, 0.0) + value
        self.counts[name] = self.counts.get(name, 0) + 1

    def mean(self, name: str) -> float | None:
        """The mean of a counter, ``None`` when it was not measured."""
        return self.sums[name] / self.counts[name] if name in self.sums else None

    def metric(self, metric: Metric) -> tuple[float, str] | None:
        """A judged figure, and which counter it is of."""
        for name in metric.counters:
            value = self.mean(name)
            if value is not None:
                return value, name
        above, below = (self.mean(name) for name in metric.quotient)
        if above is not None and below:
            return above / below, "/".join(metric.quotient)
        return None


@dataclass(frozen=True)
class Judgement:
    """One figure of one kernel; values are ``None`` where not measured, ``change`` is in percent of the base."""

    metric: str
    verdict: Verdict
    base: float | None
    new: float | None
    change: float | None
    demand: str
    reason: str = ""


@dataclass(frozen=True)
class KernelJudgement:
    """All figures of one kernel. It passes only if every figure was measured and passes."""

    kernel: str
    verdict: Verdict
    judgements: tuple[Judgement, ...]
    duration_change: float | None
    """Percent; for information, no threshold decides on it."""


def read_measurements(path: Path) -> dict[str, Measured]:
    """Means by kernel name from one file, or from all CSV and JSON files of a directory.

    Raises:
        GateError: a file is no output of rocprof or rocprofv3.
        LimitError: it is larger than a limit.
    """
    kernels: dict[str, Measured] = {}
    for file in _files(path):
        try:
            if file.stat().st_size > MOST_BYTES:
                raise LimitError(f"{file} is larger than {MOST_BYTES >> 20} MiB", "measure fewer dispatches")
            data = file.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror}", "name a results file of rocprof") from error
        if data.lstrip()[:1] in (b"{", b"["):
            _read_json(str(file), data, kernels)
        else:
            _read_csv(str(file), data.decode("utf-8-sig", "replace"), kernels)
        if len(kernels) > MOST_NAMES:
            raise LimitError(f"{file}: more than {MOST_NAMES} kernel names", "measure fewer kernels")
    return kernels


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.rglob("*") if one.suffix in (".csv", ".json") and one.is_file())
    if not found:
        raise UsageError(f"{path} holds no .csv or .json file", "name the output directory of rocprof or rocprofv3")
    if len(found) > MOST_FILES:
        raise LimitError(f"{path} holds more than {MOST_FILES} result files", "name one of them")
    return found


def _read_csv(path: str, text: str, kernels: dict[str, Measured]) -> None:
    reader = csv.reader(io.StringIO(text))
    try:
        header = [name.strip().strip('"') for name in next(reader, [])]
        if len(header) > MOST_COLUMNS:
            raise LimitError(f"more than {MOST_COLUMNS} columns", "measure fewer counters", path, 1)
        columns = {name: number for number, name in enumerate(header)}
        name_column = next((columns[name] for name in _KERNEL if name in columns), None)
        if name_column is None:
            expected = " or ".join(_KERNEL)
            raise GateError(f"no column {expected}", "pass a results file of rocprof or rocprofv3", path, 1)
        for number, row in enumerate(reader, 2):
            if number > MOST_ROWS:
                raise LimitError(f"more than {MOST_ROWS} rows", "measure fewer dispatches", path, number)
            if not row:
                continue
            if len(row) != len(header):
                raise GateError(f"{len(row)} fields, where the header has {len(header)}", "repair it", path, number)
            measured = kernels.setdefault(kernel_name(row[name_column]), Measured())
            for counter, value in _values(row, columns):
                measured.add(counter, _number(value, path, number, counter))
    except csv.Error as error:
        raise GateError(f"not a CSV file: {error}", "pass a results file of rocprof or rocprofv3", path) from error


def _values(row: list[str], columns: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Counter names with their values in one row."""
    duration = next((name for name in _DURATIONS if name in columns), None)
    if duration is not None:
        yield DURATION, row[columns[duration]]
    else:
        for begin, end in _BEGIN_END:
            if begin in columns and end in columns:
                first, last = row[columns[begin]], row[columns[end]]
                if _TIMESTAMP.fullmatch(first.strip()) and _TIMESTAMP.fullmatch(last.strip()):
                    yield DURATION, str(int(last) - int(first))
                break
    if "Counter_Name" in columns and "Counter_Value" in columns:
        yield row[columns["Counter_Name"]].strip(), row[columns["Counter_Value"]]
        return
    taken = {*_KERNEL, *_DURATIONS}
    for name, column in columns.items():
        identity = name.lower().endswith(("_id", "_size", "_count")) and name == name.title()
        if name not in taken and name.lower() not in _NO_COUNTERS and not identity and _is_number(row[column]):
            yield name, row[column]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str, path: str, line: int, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GateError(f"{name} is {text[:40]!r}, not a number", "measure again", path, line)
    return value


def _read_json(path: str, data: bytes, kernels: dict[str, Measured]) -> None:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise GateError(f"not JSON: {error}", "pass the JSON output of rocprofv3", path) from error
    tools = document.get("rocprofiler-sdk-tool") if isinstance(document, dict) else None
    if not isinstance(tools, list):
        raise GateError("no list 'rocprofiler-sdk-tool'", "pass the JSON output of rocprofv3", path)
    for tool in tools:
        try:
            _read_tool(tool, kernels)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise GateError(
                f"a record lacks what rocprofv3 writes ({type(error).__name__}: {error})", "measure again", path
            ) from error


def _read_tool(tool: Any, kernels: dict[str, Measured]) -> None:
    symbols = {int(one["kernel_id"]): _symbol(one) for one in tool.get("kernel_symbols", ())}
    counters = {int(one["id"]["handle"]): str(one["name"]) for one in tool.get("counters", ())}
    callbacks = tool.get("callback_records") or {}
    for record in callbacks.get("counter_collection", ()):
        dispatch = record["dispatch_data"]
        measured = kernels.setdefault(symbols[int(dispatch["dispatch_info"]["kernel_id"])], Measured())
        values: dict[str, float] = {}
        for one in record["records"]:  # one record for each shader engine or instance
            handle = one["counter_id"]["handle"] if isinstance(one["counter_id"], dict) else one["counter_id"]
            name = counters[int(handle)]
            values[name] = values.get(name, 0.0) + float(one["value"])
        for name, value in values.items():
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value}")
            measured.add(name, value)
        if dispatch.get("end_timestamp"):
            measured.add(DURATION, float(dispatch["end_timestamp"]) - float(dispatch["start_timestamp"]))
    for record in (tool.get("buffer_records") or {}).get("kernel_dispatch", ()):
        measured = kernels.setdefault(symbols[int(record["dispatch_info"]["kernel_id"])], Measured())
        measured.add(DURATION, float(record["end_timestamp"]) - float(record["start_timestamp"]))


def _symbol(one: Any) -> str:
    for key in ("formatted_kernel_name", "truncated_kernel_name", "kernel_name"):
        if one.get(key):
            return kernel_name(str(one[key]))
    raise KeyError("formatted_kernel_name")


def kernel_name(text: str) -> str:
    """A kernel's name without what the tools add: quotes, ``[clone .kd]``, ``.kd``."""
    name = text.strip().strip('"')
    return name.removesuffix(" [clone .kd]").removesuffix(".kd").strip()


def judge(
    base: Mapping[str, Measured], new: Mapping[str, Measured], thresholds: Thresholds | None = None
) -> tuple[KernelJudgement, ...]:
    """A judgement of every kernel of either side, by name."""
    limits = thresholds or Thresholds()
    return tuple(_judge_kernel(name, base.get(name), new.get(name), limits) for name in sorted({*base, *new}))


def _judge_kernel(name: str, base: Measured | None, new: Measured | None, limits: Thresholds) -> KernelJudgement:
    judgements = (
        _judged("valu_utilisation", base, new, f"up by at least {limits.valu_utilisation_up:g} %",
                lambda change: change >= limits.valu_utilisation_up),
        _judged("lds_utilisation", base, new, f"within {limits.lds_utilisation_within:g} %",
                lambda change: abs(change) <= limits.lds_utilisation_within),
        _judged("busy", base, new, f"up by at least {limits.busy_up:g} %", lambda change: change >= limits.busy_up),
    )  # fmt: skip
    verdicts = {one.verdict for one in judgements}
    verdict: Verdict = "fail" if "fail" in verdicts else "not_measured" if "not_measured" in verdicts else "pass"
    before, after = (side.mean(DURATION) if side is not None else None for side in (base, new))
    return KernelJudgement(name, verdict, judgements, _change(before, after))


def _judged(key: str, base: Measured | None, new: Measured | None, demand: str, passes: Any) -> Judgement:
    metric = METRICS[key]
    sides = {"base": base, "new": new}
    missing = [name for name, side in sides.items() if side is None]
    if missing:
        return Judgement(key, "not_measured", None, None, None, demand, f"the kernel is missing in {missing[0]}")
    found = {name: side.metric(metric) for name, side in sides.items() if side is not None}
    before, after = found["base"], found["new"]
    if before is None or after is None:
        side = "base" if before is None else "new"
        wanted = " or ".join([*metric.counters, " with ".join(metric.quotient)])
        return Judgement(key, "not_measured", before and before[0], after and after[0], None, demand,
                         f"{side} has no {wanted}")  # fmt: skip
    if before[1] != after[1]:
        reason = f"base has {before[1]}, new has {after[1]}: measure the same counters"
        return Judgement(key, "not_measured", before[0], after[0], None, demand, reason)
    change = _change(before[0], after[0])
    if change is None:
        if before[0] == after[0] == 0 and passes(0.0):
            return Judgement(key, "pass", 0.0, 0.0, 0.0, demand)
        reason = "the base's figure is 0, so that there is no relative change"
        return Judgement(key, "not_measured", before[0], after[0], None, demand, reason)
    return Judgement(key, "pass" if passes(change) else "fail", before[0], after[0], change, demand)


def _change(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or before <= 0:
        return None
    return 100 * (after / before - 1)


def overall(judgements: Iterable[KernelJudgement]) -> Verdict:
    """``fail`` if a kernel fails, else ``not_measured`` if one is not measured or there is none."""
    verdicts = {one.verdict for one in judgements}
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts == {"pass"} else "not_measured"
