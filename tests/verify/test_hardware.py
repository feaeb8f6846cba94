"""Profiler results of two versions: read by column names, judged by thresholds, never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asmevo_gate.cli.main import run
from asmevo_gate.errors import GateError, LimitError, UsageError
from asmevo_gate.verify import hardware
from asmevo_gate.verify.hardware import DURATION, judge, kernel_name, overall, read_measurements
from asmevo_gate.verify.thresholds import Thresholds

V1 = """\
"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr","accum_vgpr","sgpr","wave_size","sig","obj","VALUUtilization","LDSUtil","GPUBusy","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"
0,"scale(float*, int) [clone .kd]",1,0,0,9,9,1024,256,512,0,24,0,16,64,0x0,0x7f,{valu},{lds},{busy},1,10,110,120,100
1,"scale(float*, int) [clone .kd]",1,0,2,9,9,1024,256,512,0,24,0,16,64,0x0,0x7f,{valu},{lds},{busy},1,10,310,320,300
"""
V3_COLUMNS = [
    *("Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id"),
    *("Kernel_Name", "Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count"),
    *("SGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"),
]


def v1(path: Path, valu: float, lds: float, busy: float) -> Path:
    path.write_text(V1.format(valu=valu, lds=lds, busy=busy))
    return path


def v3(path: Path, counters: dict[str, float], columns: list[str]) -> Path:
    rows = [",".join(columns)]
    for name, value in counters.items():
        fields = dict.fromkeys(V3_COLUMNS, "1") | {"Kernel_Name": '"scale(float*, int)"', "Counter_Name": name}
        fields |= {"Counter_Value": str(value), "Start_Timestamp": "100", "End_Timestamp": "300"}
        rows.append(",".join(fields[column] for column in columns))
    path.write_text("\n".join(rows) + "\n")
    return path


def v3_json(path: Path, counters: dict[str, float]) -> Path:
    names = list(counters)
    tool = {
        "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "scale(float*, int)"}],
        "counters": [{"id": {"handle": number}, "name": name} for number, name in enumerate(names)],
        "callback_records": {
            "counter_collection": [
                {
                    "dispatch_data": {
                        "dispatch_info": {"kernel_id": 3},
                        "start_timestamp": 100,
                        "end_timestamp": 300,
                    },
                    "records": [
                        {"counter_id": {"handle": number}, "value": counters[name] / 2}
                        for number, name in enumerate(names)
                        for _ in range(2)
                    ],
                }
            ]
        },
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


def test_counter_table_of_rocprof_gives_means_by_kernel(tmp_path: Path) -> None:
    found = read_measurements(v1(tmp_path / "results.csv", 50, 10, 80))
    assert list(found) == ["scale(float*, int)"]
    one = found["scale(float*, int)"]
    assert one.mean("VALUUtilization") == 50
    assert one.mean(DURATION) == 200
    assert one.mean("sgpr") is None


@pytest.mark.parametrize("columns", [V3_COLUMNS, V3_COLUMNS[::-1]], ids=["as written", "reversed"])
def test_order_of_columns_does_not_matter(tmp_path: Path, columns: list[str]) -> None:
    path = v3(tmp_path / "counter_collection.csv", {"VALUUtilization": 40, "GPUBusy": 90}, columns)
    one = read_measurements(path)["scale(float*, int)"]
    assert (one.mean("VALUUtilization"), one.mean("GPUBusy"), one.mean(DURATION)) == (40, 90, 200)


def test_json_adds_up_the_instances_of_a_counter(tmp_path: Path) -> None:
    one = read_measurements(v3_json(tmp_path / "out.json", {"SQ_LDS_IDX_ACTIVE": 60}))["scale(float*, int)"]
    assert one.mean("SQ_LDS_IDX_ACTIVE") == 60
    assert one.mean(DURATION) == 200


def test_statistics_of_both_tools_give_durations(tmp_path: Path) -> None:
    path = tmp_path / "kernel_stats.csv"
    path.write_text('"Percentage","AverageNs","Calls","Name","TotalDurationNs"\n"50","123.5","2","scale.kd","247"\n')
    one = read_measurements(path)["scale"]
    assert one.sums == {DURATION: 123.5}


@pytest.mark.parametrize(
    ("new", "verdict", "failing"),
    [
        ((52.5, 10, 82.4), "pass", []),
        ((52.4, 10, 82.4), "fail", ["valu_utilisation"]),
        ((52.5, 10.3, 82.4), "fail", ["lds_utilisation"]),
        ((52.5, 9.7, 82.4), "fail", ["lds_utilisation"]),
        ((52.5, 10, 82.3), "fail", ["busy"]),
    ],
)
def test_thresholds_decide(tmp_path: Path, new: tuple[float, float, float], verdict: str, failing: list[str]) -> None:
    base = read_measurements(v1(tmp_path / "base.csv", 50, 10, 80))
    after = read_measurements(v1(tmp_path / "new.csv", *new))
    found = judge(base, after)
    assert [one.metric for one in found[0].judgements if one.verdict == "fail"] == failing
    assert overall(found) == verdict


def test_other_thresholds_give_another_verdict(tmp_path: Path) -> None:
    base = read_measurements(v1(tmp_path / "base.csv", 50, 10, 80))
    after = read_measurements(v1(tmp_path / "new.csv", 51, 10, 80))
    assert overall(judge(base, after)) == "fail"
    assert overall(judge(base, after, Thresholds(2, 2, 0))) == "pass"


def test_missing_counter_is_not_measured_and_never_a_pass(tmp_path: Path) -> None:
    base = read_measurements(v3(tmp_path / "a.csv", {"VALUUtilization": 50, "GPUBusy": 80}, V3_COLUMNS))
    after = read_measurements(v3(tmp_path / "b.csv", {"VALUUtilization": 60, "GPUBusy": 90}, V3_COLUMNS))
    (kernel,) = judge(base, after)
    assert [one.verdict for one in kernel.judgements] == ["pass", "not_measured", "pass"]
    assert kernel.verdict == "not_measured"
    assert "LDSUtil" in kernel.judgements[1].reason


def test_raw_counters_stand_in_for_derived_ones(tmp_path: Path) -> None:
    raw = {
        "SQ_THREAD_CYCLES_VALU": 640.0,
        "SQ_ACTIVE_INST_VALU": 20.0,
        "SQ_LDS_IDX_ACTIVE": 10.0,
        "GRBM_GUI_ACTIVE": 80.0,
        "GRBM_COUNT": 100.0,
    }
    better = raw | {"SQ_THREAD_CYCLES_VALU": 680.0, "GRBM_COUNT": 96.0}
    (kernel,) = judge(
        read_measurements(v3_json(tmp_path / "a.json", raw)), read_measurements(v3_json(tmp_path / "b.json", better))
    )
    assert kernel.verdict == "pass", kernel


def test_kernel_of_one_side_only_is_not_measured(tmp_path: Path) -> None:
    base = read_measurements(v1(tmp_path / "base.csv", 50, 10, 80))
    (kernel,) = judge(base, {})
    assert kernel.verdict == "not_measured"
    assert "missing in new" in kernel.judgements[0].reason


def test_directory_is_read_whole(tmp_path: Path) -> None:
    v3(tmp_path / "pass_1.csv", {"VALUUtilization": 50}, V3_COLUMNS)
    v3(tmp_path / "pass_2.csv", {"GPUBusy": 80}, V3_COLUMNS)
    one = read_measurements(tmp_path)["scale(float*, int)"]
    assert (one.mean("VALUUtilization"), one.mean("GPUBusy")) == (50, 80)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column"),
        ("KernelName,GPUBusy\nk\n", "1 fields"),
        ("Kernel_Name,Counter_Name,Counter_Value\nk,GPUBusy,nan\n", "not a number"),
        ("Kernel_Name,Counter_Name,Counter_Value\nk,GPUBusy,many\n", "not a number"),
        ('{"traceEvents": []}', "rocprofiler-sdk-tool"),
        ('{"rocprofiler-sdk-tool": [{"kernel_symbols": [{}]}]}', "lacks"),
        ("{" * 100000, "not JSON"),
        ("", "no column"),
    ],
)
def test_what_is_no_result_is_refused_with_a_reason(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "results"
    path.write_text(text)
    with pytest.raises(GateError, match=words):
        read_measurements(path)


def test_limits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = v1(tmp_path / "results.csv", 50, 10, 80)
    monkeypatch.setattr(hardware, "MOST_ROWS", 2)
    with pytest.raises(LimitError):
        read_measurements(path)
    monkeypatch.setattr(hardware, "MOST_BYTES", 10)
    with pytest.raises(LimitError):
        read_measurements(path)
    with pytest.raises(UsageError):
        read_measurements(tmp_path / "missing.csv")


def test_names_lose_what_the_tools_add() -> None:
    assert kernel_name(' "k(int) [clone .kd]" ') == "k(int)"
    assert kernel_name("k.kd") == "k"


def test_command_says_it_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, after = v1(tmp_path / "base.csv", 50, 10, 80), v1(tmp_path / "new.csv", 60, 10, 79)
    assert run(["hardware", str(base), str(after)]) == 1
    shown = capsys.readouterr().out
    assert "GPU busy: FAIL: 80 -> 79 (-1.2 %, up by at least 3 %)" in shown
    assert run(["hardware", str(base), str(after), "--busy-up", "-5", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "pass"
    assert document["kernels"][0]["judgements"][0]["change"] == pytest.approx(20)
    assert run(["hardware", str(base), str(tmp_path / "nothing.csv")]) == 2
