from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from asmevo_gate.errors import UsageError
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.formats import FORMATS, format_name, renderer
from asmevo_gate.report.writing import Output, parse_outputs, write_outputs
from tests.report.samples import CONTEXT, failing


def test_every_format_is_written_where_it_was_asked_for(tmp_path: Path) -> None:
    outputs = parse_outputs(f"{name}={tmp_path / 'reports' / name}" for name in FORMATS)
    write_outputs(outputs, failing(), CONTEXT)
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == sorted([*FORMATS, "markdown-pictures"])
    for name in FORMATS:
        context = msgspec.structs.replace(CONTEXT, pictures_at="markdown-pictures/") if name == "markdown" else CONTEXT
        assert (tmp_path / "reports" / name).read_bytes().decode() == renderer(name)(failing(), context)


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
