"""Processes, clusters and limits: the same report whoever made it, and no lost finding when one of them ends."""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path

import pytest

from asmevo_gate.changes import named_files
from asmevo_gate.changes.model import Change
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.gate import cluster as cluster_module
from asmevo_gate.gate import execution as execution_module
from asmevo_gate.gate import file_task
from asmevo_gate.gate import process_pool as process_pool_module
from asmevo_gate.gate.change_check import FileResult, SideFiles, check_change
from asmevo_gate.gate.cluster import scheduler_address
from asmevo_gate.gate.execution import Execution
from asmevo_gate.gate.file_task import Failed
from asmevo_gate.gate.picture import KernelPicture
from asmevo_gate.gate.result import Report
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings
from asmevo_gate.gate.verdict import exit_code
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.json import render
from tests.gate.sample_repository import changes_of, kernel, make_repository, write_kernels

ROOT = Path(__file__).resolve().parents[2]


def checked(root: Path, execution: Execution) -> tuple[str, list[KernelPicture]]:
    """The report of the sample change as JSON, and its pictures."""
    pictures: list[KernelPicture] = []
    with changes_of(root) as changes:
        request = Request(assemble=False, draw=pictures.append)
        report = run_gate(changes, Settings(root=root), request, execution=execution)
    assert [(one.kernel, one.rule) for one in report.findings if one.new and one.severity == "error"] == [
        ("a", "wait.vmcnt.raw")
    ]
    assert {kernel.name for kernel in report.kernels if kernel.delta} == {"a", "b", "c"}
    return render(report, RenderContext(root=str(root))), pictures


def named(root: Path, execution: Execution) -> Report:
    with named_files(["."], root) as changes:
        return run_gate(changes, Settings(root=root), Request(assemble=False, named=True), execution=execution)


def json_of(report: Report) -> str:
    return render(report, RenderContext())


def test_processes_give_the_same_report_and_pictures(tmp_path: Path) -> None:
    make_repository(tmp_path)
    alone = checked(tmp_path, Execution())
    assert checked(tmp_path, Execution(jobs=2)) == alone
    assert len(alone[1]) == 4


def test_a_dask_cluster_gives_the_same_report(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    make_repository(tmp_path)
    said: list[str] = []
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "processes": False,
        "protocol": "tcp://",
    }
    with distributed.LocalCluster(**options) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        execution = Execution(cluster=address, warn=said.append)
        assert checked(tmp_path, execution) == checked(tmp_path, Execution())
    assert said == []


def test_a_lost_worker_of_a_cluster_loses_no_finding(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    write_kernels(tmp_path, 12)
    killed: list[int] = []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(**options) as cluster:

        def kill_one(done: int, total: int) -> None:
            if not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        address = cluster.scheduler_address.replace("tcp://", "dask://")
        report = named(tmp_path, Execution(cluster=address, progress=kill_one))
    assert killed
    assert report.execution == "complete"
    assert json_of(report) == json_of(named(tmp_path, Execution()))


def test_a_scheduler_that_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1)
    write_kernels(tmp_path, 1)
    with pytest.raises(GateError, match="does not answer"):
        named(tmp_path, Execution(cluster="dask://127.0.0.1:9"))


def test_a_worker_with_another_version_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = cluster_module._Reader(lambda line: None)(cluster_module.work_for("another version", "", b"", b""))
    assert isinstance(answer[0], Failed)
    assert "another version" in answer[0].message
    assert answer[1] is False


def test_a_cluster_is_named_by_its_scheduler() -> None:
    assert scheduler_address("dask://node-7.cluster:8786") == "tcp://node-7.cluster:8786"
    assert scheduler_address("dask://[::1]:8786") == "tcp://[::1]:8786"
    for wrong in ("dask://", "dask://host", "tcp://host:1", "dask://host:1; rm", "slurm"):
        with pytest.raises(UsageError, match="names no executor"):
            scheduler_address(wrong)


def test_a_killed_process_loses_no_finding(tmp_path: Path) -> None:
    write_kernels(tmp_path, 10)
    killed: list[int] = []

    def kill_once(done: int, total: int) -> None:
        if not killed:
            for process in active_children():
                os.kill(process.pid or 0, signal.SIGKILL)
                killed.append(process.pid or 0)

    report = named(tmp_path, Execution(jobs=2, progress=kill_once))
    assert killed
    assert report.execution == "complete"
    assert json_of(report) == json_of(named(tmp_path, Execution()))


def test_a_file_whose_process_is_killed_again_is_named_and_the_run_is_an_error(tmp_path: Path) -> None:
    write_kernels(tmp_path, 2)
    ended = threading.Event()

    def kill_all() -> None:
        while not ended.wait(0.02):
            for process in active_children():
                os.kill(process.pid or 0, signal.SIGKILL)

    thread = threading.Thread(target=kill_all)
    thread.start()
    try:
        report = named(tmp_path, Execution(jobs=2))
    finally:
        ended.set()
        thread.join()
    assert report.execution == "error"
    assert {one.file for one in report.coverage.unknown} == {"k0.s", "k1.s"}
    assert all("killed" in one.reason for one in report.coverage.unknown)
    assert exit_code(report.verdict, report.execution, allow_not_checked=True) == 2


def check_timed_out(report: Report) -> None:
    assert report.execution == "timed_out"
    assert [one.file for one in report.coverage.unknown] == ["long.s"]
    assert "limit of" in report.coverage.unknown[0].reason
    assert [one.kernel for one in report.findings if one.rule == "wait.vmcnt.raw"] == ["k1"]
    assert exit_code(report.verdict, report.execution, allow_not_checked=True) == 2


def test_a_file_that_takes_too_long_is_named_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernels(tmp_path, 2)
    (tmp_path / "long.s").write_text(kernel("long", 0))

    def check(change: Change, files: SideFiles, settings: Settings, request: Request) -> FileResult:
        if change.path == "long.s":
            time.sleep(60)
        with file_task.time_limit(0):
            return check_change(change, files, settings, request)

    named(tmp_path, Execution())  # loads the tables, so that the time below is that of the files
    monkeypatch.setattr(execution_module, "check_change", check)
    check_timed_out(named(tmp_path, Execution(seconds=4)))
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_file_that_takes_too_long_ends_in_a_process_too(tmp_path: Path) -> None:
    write_kernels(tmp_path, 2)
    many = ".set count, 0\n.rept 240000\n  v_mov_b32 v1, count\n.set count, count + 1\n.endr"  # each text is another
    (tmp_path / "long.s").write_text(kernel("long", 0, body=many))
    check_timed_out(named(tmp_path, Execution(jobs=2, seconds=3)))


def test_the_error_of_the_first_file_ends_the_run_in_any_execution(tmp_path: Path) -> None:
    write_kernels(tmp_path, 3)
    for name in ("k0.s", "k1.s"):
        (tmp_path / name).write_text("k:\n  s_endpgm\n")
    for jobs in (1, 2):
        with pytest.raises(GateError, match="which GPU") as raised:
            named(tmp_path, Execution(jobs=jobs))
        assert raised.value.file == "k0.s"


def test_a_name_that_is_no_utf8_is_checked_all_the_same(tmp_path: Path) -> None:
    write_kernels(tmp_path, 3)
    try:
        (tmp_path / "k0.s").rename(tmp_path / os.fsdecode(b"k\xff.s"))
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    report = named(tmp_path, Execution(jobs=2))
    assert len(report.kernels) == 3
    assert json_of(report) == json_of(named(tmp_path, Execution()))


def gate(folder: Path, *arguments: str, prepare: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "ASMEVO_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "asmevo_gate", "check", ".", "--no-assemble", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=prepare,
    )  # fmt: skip


def children(pid: int) -> list[int]:
    try:
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_without_processes_the_run_goes_on_in_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    write_kernels(tmp_path, 3)
    monkeypatch.setattr(process_pool_module, "ProcessPoolExecutor", refuse)
    assert json_of(named(tmp_path, Execution(jobs=2))) == json_of(named(tmp_path, Execution()))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see the workers")
def test_an_interrupted_run_writes_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    write_kernels(tmp_path, 8, repeat=3_000)
    process = gate(tmp_path, "--jobs", "2", "--output", "json=report.json")
    workers: list[int] = []
    deadline = time.monotonic() + 60
    while len(workers) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        workers = [pid for pid in children(process.pid) if b"spawn_main" in _command(pid)]
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (2, b"asmevo-gate: interrupted; nothing was decided")
    assert not (tmp_path / "report.json").exists()
    assert not [pid for pid in workers if b"spawn_main" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _no_room() -> None:
    """No file may become larger than 100 bytes: what a full disk does to a writer."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_no_room_for_the_cache_is_a_warning_and_for_a_report_an_error(tmp_path: Path) -> None:
    write_kernels(tmp_path, 2)
    process = gate(tmp_path, prepare=_no_room)
    shown, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"wait.vmcnt.raw" in shown
    assert said.count(b"cannot be written") == 1
    process = gate(tmp_path, "--no-cache", "--output", "json=report.json", prepare=_no_room)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"report.json: cannot write report.json" in said
    assert [path.name for path in tmp_path.iterdir() if "report" in path.name] == []
