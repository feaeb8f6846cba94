"""Parts of a run, and their reports as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo_gate.changes.model import Change, Version
from asmevo_gate.cli.main import run
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.result import Shard
from asmevo_gate.gate.shards import parse_shard, part_of, size_of
from tests.gate.sample_repository import write_kernels


def change(number: int, size: int) -> Change:
    path = f"k{number}.s"
    return Change(path, None, "added", None, Version(path, b" " * size))


@given(st.lists(st.integers(0, 3_000), max_size=40), st.integers(1, 9))
def test_every_file_is_in_one_part_and_the_parts_are_balanced(sizes: list[int], count: int) -> None:
    changes = [change(number, size) for number, size in enumerate(sizes)]
    parts = [part_of(changes, Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(one.path for part in parts for one in part) == sorted(one.path for one in changes)
    assert all(list(part) == [one for one in changes if one in part] for part in parts)
    loads = [sum(size_of(one) + 1 for one in part) for part in parts]
    assert max(loads) - min(loads) <= max(sizes, default=0) + 1


def test_a_shard_is_written_as_a_fraction() -> None:
    assert parse_shard("3/8") == Shard(3, 8)
    for wrong in ("0/8", "9/8", "3", "3/8/1", "-1/8", "1/0", "1/1001", "1/9999999", "a/b", ""):
        with pytest.raises(UsageError, match="names no part"):
            parse_shard(wrong)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The reports of both parts of a run over three kernels."""
    monkeypatch.chdir(tmp_path)
    write_kernels(tmp_path, 3)
    for number in (1, 2):
        code = run(["check", ".", "--no-assemble", "--no-cache", "--shard", f"{number}/2",
                    "--output", f"json=part{number}.json"])  # fmt: skip
        assert code in (0, 1)
    return [tmp_path / "part1.json", tmp_path / "part2.json"]


def test_merged_parts_are_the_whole_report(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert {json.loads(part.read_text())["execution"] for part in parts} == {"partial"}
    assert run(["check", ".", "--no-assemble", "--no-cache", "--output", "json=whole.json"]) == 1
    assert run(["merge", "part2.json", "part1.json", "--output", "json=merged.json"]) == 1
    assert "wait.vmcnt.raw" in capsys.readouterr().out
    whole, merged = (json.loads(Path(name).read_text()) for name in ("whole.json", "merged.json"))
    assert "--shard" not in merged.pop("command")
    whole.pop("command")
    assert merged == whole
    assert len(merged["kernels"]) == 3


def edit(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda report: report.update(fields)


def pass_it(report: dict[str, Any]) -> None:
    report["verdict"] = "pass" if report["verdict"] != "pass" else "fail"


def other_bytes(report: dict[str, Any]) -> None:
    report["inputs"].append({"file": "k0.s", "sha256": "0" * 64, "base_sha256": None})
    report["inputs"].append({"file": "k0.s", "sha256": "1" * 64, "base_sha256": None})


def other_tool(report: dict[str, Any]) -> None:
    report["tool"]["version"] = "9"


def same_kernel(report: dict[str, Any]) -> None:
    one = {**report["kernels"][0]}
    report["kernels"] = [{**one, "file": f"k{number}.s", "name": f"k{number}"} for number in range(3)]


@pytest.mark.parametrize(
    ("change_it", "expected"),
    [
        (edit(schema="asmevo-gate/report/9"), "expected 'asmevo-gate/report/1'"),
        (edit(schema=None), "malformed"),
        (edit(verdict="fine"), "malformed"),
        (edit(findings="none"), "malformed"),
        (edit(surprise=1), "does not know"),
        (other_tool, "another asmevo-gate"),
        (edit(shard={"number": 1, "count": 2}), "also in"),
        (edit(shard={"number": 2, "count": 3}), "not a part of the same run"),
        (edit(shard=None), "not a part of the same run"),
        (pass_it, "by --fail-on"),
        (other_bytes, "not the same file"),
        (same_kernel, "is also in"),
    ],
)  # fmt: skip
def test_contradictions_are_errors(
    parts: list[Path],
    capsys: pytest.CaptureFixture[str],
    change_it: Callable[[dict[str, Any]], None],
    expected: str,
) -> None:
    report = json.loads(parts[1].read_text())
    change_it(report)
    parts[1].write_text(json.dumps(report))
    assert run(["merge", "part1.json", "part2.json", "--output", "json=merged.json"]) == 2
    assert expected in capsys.readouterr().err
    assert not Path("merged.json").exists()


def test_a_missing_part_or_report_is_an_error(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["merge", "part1.json"]) == 2
    assert "part 2 of 2 is missing" in capsys.readouterr().err
    assert run(["merge", "part1.json", "part3.json"]) == 2
    assert "part3.json: the report cannot be read" in capsys.readouterr().err
    parts[0].write_bytes(b"\xff{")
    assert run(["merge", "part1.json", "part2.json"]) == 2
    assert "malformed" in capsys.readouterr().err


@pytest.mark.parametrize("execution", ["error", "timed_out"])
def test_a_part_that_was_not_done_makes_the_whole_not_done(parts: list[Path], execution: str) -> None:
    report = json.loads(parts[0].read_text())
    report["execution"] = execution
    parts[0].write_text(json.dumps(report))
    assert run(["merge", "part1.json", "part2.json", "--output", "json=merged.json"]) == 2
    assert json.loads(Path("merged.json").read_text())["execution"] == execution


def test_a_part_posts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["ci", "--shard", "1/2", "--post", "note"]) == 2
    assert "a part of a run posts nothing" in capsys.readouterr().err
