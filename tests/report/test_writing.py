from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.formats import FORMATS, format_name, renderer
from asmevo_gate.report.writing import Output, parse_outputs, write_outputs, write_text
from tests.report.samples import CONTEXT, failing


def test_every_format_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    outputs = parse_outputs(f"{name}={tmp_path / 'reports' / name}" for name in FORMATS)
    write_outputs(outputs, failing(), CONTEXT)
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == sorted(FORMATS)
    for name in FORMATS:
        assert (tmp_path / "reports" / name).read_bytes().decode() == renderer(name)(failing(), CONTEXT)


def test_a_path_may_hold_an_equals_sign_and_a_format_hyphens() -> None:
    assert parse_outputs(["gitlab-metrics=a=b.txt"]) == [Output("gitlab_metrics", "a=b.txt")]


@pytest.mark.parametrize("argument", ["junit", "junit=", "=x.xml", "jnuit=x.xml"])
def test_a_wrong_output_argument_is_a_usage_error(argument: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_outputs([argument])
    assert raised.value.repair


def test_two_reports_cannot_share_a_file() -> None:
    with pytest.raises(UsageError, match="two --output"):
        parse_outputs(["json=out/x", "sarif=out/../out/x"])


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as raised:
        format_name("pdf")
    assert "junit" in raised.value.repair


def test_nothing_is_written_when_one_report_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(report: object, context: RenderContext) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr("asmevo_gate.report.sarif.render", broken)
    with pytest.raises(RuntimeError):
        write_outputs(parse_outputs([f"json={tmp_path}/a", f"sarif={tmp_path}/b"]), failing(), CONTEXT)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(GateError, match="No space left") as raised:
        write_text(target, "new")
    assert raised.value.file == str(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_or_a_file_in_the_way_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "report.json"):
        with pytest.raises(GateError, match="cannot write the report"):
            write_text(path, "x")


def test_a_report_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "report", "x")
    assert stat.S_IMODE((tmp_path / "report").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_text_is_utf_8_with_unix_line_ends_and_no_byte_order_mark(tmp_path: Path) -> None:
    write_text(tmp_path / "report", "é\n\udce9\n")
    assert (tmp_path / "report").read_bytes() == b"\xc3\xa9\n\\udce9\n"
