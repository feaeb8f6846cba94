"""The HTML page: self-contained, escaped, with pictures; looked at in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from asmevo_gate.changes import staged_changes
from asmevo_gate.gate.picture import KernelPicture
from asmevo_gate.gate.result import Report
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.html import render
from asmevo_gate.report.ribbon import ribbon_lines

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, RenderContext]:
    """The demo's change with its pictures."""
    root = tmp_path_factory.mktemp("html")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    shutil.copytree(EXAMPLES / "kernels", root / "kernels")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", *identity, *command], cwd=root, check=True)
    shutil.copytree(EXAMPLES / "change", root / "kernels", dirs_exist_ok=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    pictures: list[KernelPicture] = []
    with staged_changes(root) as changes:
        request = Request(assemble=False, draw=pictures.append)
        report = run_gate(changes, Settings(root=root), request)
        sources = {change.path: change.head.data.decode() for change in changes.changes if change.head}
    return report, RenderContext(root=str(root), sources=sources, pictures=tuple(pictures))


def test_the_page_asks_for_nothing_from_outside_and_runs_no_script(checked: tuple[Report, RenderContext]) -> None:
    text = render(*checked)
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object", "embed"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}
    assert "url(" not in text
    assert "@import" not in text


def test_the_page_shows_deltas_findings_and_pictures(checked: tuple[Report, RenderContext]) -> None:
    text = render(*checked)
    assert "wait.lgkmcnt.raw" in text
    assert "VGPRs allocated" in text
    assert text.count("<svg") >= 2 * len(checked[1].pictures)
    assert "live VGPRs of saxpy by line" in text
    assert "control flow of block_sum" in text


def test_text_from_outside_is_escaped(checked: tuple[Report, RenderContext]) -> None:
    report, context = checked
    evil = "<script>alert(1)</script>"
    finding = msgspec.structs.replace(report.findings[0], message=evil, kernel=evil)
    report = msgspec.structs.replace(report, findings=(finding,), command=evil)
    pictures = tuple(msgspec.structs.replace(one, name=evil) for one in context.pictures)
    text = render(report, RenderContext(sources={k: evil + v for k, v in context.sources.items()}, pictures=pictures))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_ribbon_shows_head_and_a_base_that_differs(checked: tuple[Report, RenderContext]) -> None:
    picture = next(one for one in checked[1].pictures if one.name == "block_sum")
    lines = list(ribbon_lines(picture, 30))
    assert re.match(r"block_sum \(gfx1100\): live VGPRs by line, most \d+ in line \d+", lines[0])
    assert lines[1].startswith("  head ")
    assert all(len(line) <= 7 + 30 for line in lines[1:])


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_shows_the_page_without_a_console_message(
    checked: tuple[Report, RenderContext], tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(*checked))
    switches = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--dump-dom"]
    switches += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    switches += ["--enable-logging=stderr"]
    command = [str(CHROMIUM), *switches, f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count("<svg") == render(*checked).count("<svg")
    assert "wait.lgkmcnt.raw" in done.stdout
