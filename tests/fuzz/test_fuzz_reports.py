"""No file that a job hands to another makes its reader crash: baselines, reports, cache entries, constraint files."""

from __future__ import annotations

import hashlib
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.changes.model import Side
from asmevo_gate.constraints.files import graph_for, lay_over, read_file
from asmevo_gate.constraints.matching import Matcher
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.gate import cache as result_cache
from asmevo_gate.gate.baseline import make_baseline, parse_baseline
from asmevo_gate.gate.change_check import FileResult
from asmevo_gate.gate.merging import merge_reports, read_report
from asmevo_gate.gate.result import (
    BlockReport,
    Coverage,
    Finding,
    Input,
    KernelReport,
    Location,
    Metrics,
    Report,
    Rewrite,
    Shard,
    Tool,
    Unknown,
)
from asmevo_gate.isa.targets import find_target
from tests.fuzz.mutation import VALUES, damaged_bytes, damaged_value

_QUICK = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_KEY = "a" * 64
_HERE = Location("k.s", 3, "s_nop 0")
_FINDING = Finding(
    "wait.raw", "isa", "error", "k.s", 3, 1, 3, "k", "message", "repair", _HERE, (_HERE,), True, "f" * 16
)
_METRICS = Metrics(vgpr_live_max=4, cycles=12.5)
_REPORT = Report(
    Tool("asmevo-gate", "1", "0" * 12), "fail", "partial", Coverage(5, 4, (Unknown("k.s", 4, "x", "y"),)), (_FINDING,),
    (KernelReport("k", "k.s", "gfx942", _METRICS, _METRICS, {"cycles": 0}, (BlockReport("b", 1, 2, 3, 0),)),),
    (Rewrite("k", "r", "accepted", "c", "", "p", {"gain": 1.0}, ""),), (), "asmevo-gate check",
    (Input("k.s", "0" * 64),), Shard(1, 1),
)  # fmt: skip
_CONSTRAINTS = {
    "schema": "asmevo-gate/constraints/1",
    "name": "project",
    "classes": {"mine": {"any": ["VALU"], "mnemonics": ["v_*"], "none": ["SALU"], "depctr": {"va_vdst": 0}}},
    "nodes": {"n": {"title": "t", "instruction": "mine", "role": "vdst", "registers": "vgpr"}},
    "edges": {
        "e": {"rule": "r", "title": "t", "kind": "distance", "explanation": "x", "repair": "y", "source": ["s"],
              "producer": "n", "consumer": "n", "required": 2}
    },
    "house": {"h": {"title": "t", "kind": "longest_run", "comment": "c", "instruction": "mine", "limit": 3}},
}  # fmt: skip


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _tree(value: Any) -> Any:
    return msgspec.json.decode(_json(value))


@_QUICK
@given(st.data())
def test_a_damaged_baseline_is_read_or_refused(data: st.DataObject) -> None:
    good = make_baseline([_FINDING])
    content = data.draw(st.one_of(damaged_bytes(good), damaged_value(_tree(msgspec.Raw(good))).map(_json), st.binary()))
    try:
        assert parse_baseline(content, "known.json").schema
    except UsageError as error:
        assert error.file == "known.json"


@_QUICK
@given(st.data())
def test_a_damaged_report_is_merged_or_refused(data: st.DataObject) -> None:
    content = data.draw(
        st.one_of(damaged_bytes(_json(_REPORT)), damaged_value(_tree(_REPORT)).map(_json), VALUES.map(_json))
    )
    try:
        merge_reports([read_report(content, "a.json")], "error")
    except UsageError as error:
        assert error.message


@pytest.mark.parametrize(("number", "count"), [(1, 1 << 62), (-1, 3), (0, 1), (1, 0), (1, -5), (1 << 62, 1 << 63)])
def test_a_number_of_parts_is_not_believed(number: int, count: int) -> None:
    report = msgspec.structs.replace(_REPORT, shard=Shard(number, count))
    started = time.process_time()
    with pytest.raises(UsageError) as refused:
        merge_reports([read_report(_json(report), "a.json")], "error")
    assert time.process_time() - started < 1
    assert len(str(refused.value)) < 1000


@_QUICK
@given(st.data())
def test_a_damaged_cache_entry_is_no_entry(data: st.DataObject) -> None:
    content = _cache_entry()
    start = len(result_cache.MAGIC) + 32
    if data.draw(st.booleans()):
        payload = data.draw(damaged_bytes(content[start:]))
        content = result_cache.MAGIC + hashlib.sha256(payload).digest() + payload
    else:
        content = data.draw(damaged_bytes(content))
    with TemporaryDirectory() as directory:
        place = Path(directory) / "aa" / _KEY
        place.parent.mkdir()
        place.write_bytes(content)
        found = result_cache.Cache(Path(directory), _unexpected).get(_KEY, _FILES)
    assert found is None or isinstance(found, FileResult)


@pytest.mark.parametrize("nested", [b"\x81\xa1x" * 5_000, b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", b"\xa2\xff\xff"])
def test_a_cache_entry_of_a_hostile_form_is_no_entry(nested: bytes, tmp_path: Path) -> None:
    place = tmp_path / "aa" / _KEY
    place.parent.mkdir()
    for payload in (nested, b"\x81\xa1z" + nested, b"\x81\xa3key" + nested):
        place.write_bytes(result_cache.MAGIC + hashlib.sha256(payload).digest() + payload)
        assert result_cache.Cache(tmp_path, _unexpected).get(_KEY, _FILES) is None


@_QUICK
@given(st.data())
def test_a_damaged_constraint_file_is_laid_over_or_refused(data: st.DataObject) -> None:
    content = data.draw(
        st.one_of(damaged_bytes(_json(_CONSTRAINTS)), damaged_value(_CONSTRAINTS).map(_json), VALUES.map(_json))
    )
    target = find_target("gfx942")
    try:
        graph = lay_over(graph_for(target), read_file(content, "own.json"), "own.json")
        Matcher(graph, target)
    except GateError as error:
        assert error.message


class _NoFiles:
    """A repository without files."""

    root = Path("/nowhere")

    def read(self, side: Side, path: str) -> bytes | None:
        return None


_FILES = _NoFiles()


@cache
def _cache_entry() -> bytes:
    with TemporaryDirectory() as directory:
        result_cache.Cache(Path(directory), _unexpected).put(_KEY, (), FileResult((_FINDING,), _REPORT.kernels))
        return (Path(directory) / "aa" / _KEY).read_bytes()


def _unexpected(message: str) -> None:
    raise AssertionError(message)
