"""The small pictures of a Markdown report: whole XML, readable in light and dark, never a broken image."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

from asmevo_gate.cost.explain import TimelineEntry
from asmevo_gate.cost.interval import Interval
from asmevo_gate.gate.picture import BlockTimeline, FlowBlock, KernelPicture, LineLoad
from asmevo_gate.gate.result import KernelReport, Metrics, Report
from asmevo_gate.report.arrangement import arranged
from asmevo_gate.report.card import DARK, LIGHT, Palette
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.deltas import kernel_changes
from asmevo_gate.report.kernel_cards import changes_card, registers_card, time_card
from asmevo_gate.report.markdown import render
from asmevo_gate.report.picture_files import FILE_PATTERN, MOST_KERNELS, kernel_drawings, picture_files
from asmevo_gate.report.ribbon import time_lines
from asmevo_gate.report.text import one_line
from asmevo_gate.report.writing import Output, write_outputs
from tests.report.samples import CONTEXT, REDUCE, SAXPY, failing, with_text
from tests.report.strategies import for_any, text

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SVG = "{http://www.w3.org/2000/svg}"


def entry(index: int, arrived: float, waited: float, end: float, waits_for: str = "") -> TimelineEntry:
    return TimelineEntry(index, f"v_mov_b32 v{index}, 0", "valu", arrived, arrived + waited, end, waits_for, waited)


HEAD = (entry(0, 0, 0, 4), entry(1, 4, 16, 24, "memory (vmcnt)"), entry(2, 24, 0, 28))
BASE = (entry(0, 0, 0, 4), entry(1, 4, 0, 8))


BLOCKS = (FlowBlock(0, "", 10, 11, 0, 2, (1,), 8.0, "nothing"), FlowBlock(1, "", 12, 20, 1, 3, (1,), 9.0, "the VALU"))


def picture(name: str = "saxpy", file: str = "kernels/saxpy.s", label: str = ".Lloop") -> KernelPicture:
    loads = tuple(LineLoad(10 + line, 2 + line % 60, 0) for line in range(900))
    return KernelPicture(
        name, file, "gfx90a", loads, loads[:700], ((64, 8), (72, 7)), BLOCKS, BlockTimeline(label, 12, HEAD, BASE)
    )


def cards(one: KernelPicture, kernel: KernelReport) -> list[str]:
    return [registers_card(one), time_card(one), changes_card(kernel_changes(kernel))]


PICTURED = msgspec.structs.replace(CONTEXT, pictures=(picture(),))


def test_each_picture_is_whole_svg_with_a_title_and_a_description() -> None:
    for svg in cards(picture(), SAXPY):
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        named = {element.get("id"): element.text for element in root if element.get("id")}
        assert root.get("aria-labelledby") == " ".join(named)
        assert all(len(said or "") > 20 for said in named.values())


def test_a_picture_asks_for_nothing_from_outside() -> None:
    for svg in cards(picture(), SAXPY):
        assert set(re.findall(r"url\(([^)]*)\)", svg)) <= {"#stripes"}
        assert not re.search(r"href|<script|foreignObject|<image|@import|\son\w+=", svg)
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_the_description_says_in_words_what_the_picture_shows() -> None:
    registers, time, changes = (ElementTree.fromstring(svg).findtext(f"{SVG}desc") for svg in cards(picture(), SAXPY))
    assert registers == "Head needs at most 61 VGPRs, in line 69. Base needed at most 61, in line 69."
    assert time == (
        "base: 8 clk, 0 of them waiting. head: 28 clk, 16 of them waiting; longest: 16 for memory (vmcnt). "
        "All waves of head: the VALU."
    )
    assert changes is not None
    assert changes.startswith("occupancy: worse: 8 -> 7 ▼ -1 (-12 %).")


def test_waiting_and_worse_are_told_by_more_than_colour() -> None:
    _, time, changes = cards(picture(), SAXPY)
    for svg, kind in ((time, "wait"), (changes, "worse")):
        places = re.findall(rf'<rect (x="[^"]+" y="[^"]+" width="[^"]+" height="[^"]+") class="{kind}"/>', svg)
        assert places
        for place in places:
            assert f'<rect {place} fill="url(#stripes)"/>' in svg
    assert 'class="base"' in registers_card(picture())


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_and_shapes_stand_out_from_the_ground(palette: Palette) -> None:
    assert min(contrast(palette.ground, ink) for ink in (palette.ink, palette.dim)) >= 4.5
    shapes = (palette.head, palette.wait, palette.worse, palette.better, palette.dim)
    assert min(contrast(palette.ground, shape) for shape in shapes) >= 3


def test_a_picture_is_small_however_large_its_kernel_is() -> None:
    many = tuple(LineLoad(line, line % 256, 0) for line in range(50_000))
    times = tuple(entry(at, 8 * at, at % 2 * 4, 8 * at + 8) for at in range(160))
    large = msgspec.structs.replace(picture(), loads=many, timeline=BlockTimeline("a", 1, times))
    assert all(len(svg) < 60_000 for svg in cards(large, SAXPY))


def test_a_kernel_of_which_nothing_is_known_has_no_pictures() -> None:
    nothing = KernelPicture("k", "k.s", "gfx90a", (), (), (), (), None)
    assert cards(nothing, KernelReport("k", "k.s", "gfx90a", Metrics(), Metrics())) == ["", "", ""]
    assert list(time_lines(nothing)) == []


@for_any(text)
def test_text_from_outside_leaves_the_picture_whole_and_does_nothing(anything: str) -> None:
    hostile = msgspec.structs.replace(picture(anything, label=anything), gpu=anything)
    times = (msgspec.structs.replace(HEAD[1], waits_for=f"the result of '{anything}'", text=anything),)
    hostile = msgspec.structs.replace(hostile, timeline=BlockTimeline(anything, 1, times))
    kernel = KernelReport(anything, anything, anything, Metrics(cycles=Interval(1, 2)), Metrics(cycles=Interval(2, 9)))
    allowed = {"svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "text", "polygon", "polyline"}
    for svg in cards(hostile, kernel):
        svg.encode("utf-8")
        root = ElementTree.fromstring(svg)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
        assert one_line(anything) in (root.findtext(f"{SVG}title") or "")
        assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]


@for_any(text)
def test_files_have_plain_names_and_the_page_names_exactly_those(anything: str) -> None:
    report = with_text(anything)
    pictures = tuple(picture(kernel.name, kernel.file) for kernel in report.kernels)
    context = RenderContext(pictures=pictures, pictures_at="report-pictures/")
    files = dict(picture_files(kernel_drawings(arranged(report, ""), context)[0]))
    assert all(re.fullmatch(r"\d{3}(-\w+)*-(changes|registers|time)\.svg", name, re.ASCII) for name in files)
    assert sorted(re.findall(r"\]\(report-pictures/([^)]*)\)", render(report, context))) == sorted(files)


def test_a_page_beside_its_pictures_shows_them_and_each_exists(tmp_path: Path) -> None:
    page = tmp_path / "out dir" / "gate report.md"
    write_outputs([Output("markdown", str(page))], failing(), PICTURED)
    images = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", page.read_text())
    assert [alternative for alternative, _ in images if "saxpy" in alternative]
    assert all((page.parent / unquote(address)).is_file() for _, address in images)
    assert len(images) == len(list((page.parent / "gate report-pictures").glob(FILE_PATTERN))) == 3


def test_a_page_elsewhere_shows_text_and_no_image() -> None:
    page = render(failing(), PICTURED)
    assert "![" not in page
    assert "live VGPRs by line, most 61 in line 69" in page
    assert "28 clk, 16 of them waiting; longest: 16 for memory (vmcnt)" in page
    assert "  all waves: the VALU" in page
    strips = [line for line in page.splitlines() if "░" in line and line.startswith("  ")]
    assert [(line.count("█"), line.count("░")) for line in strips] == [(26, 34)]


def test_kernels_without_a_change_have_no_pictures() -> None:
    same = msgspec.structs.replace(picture("reduce", "kernels/reduce.s"), base_loads=picture().loads)
    report = msgspec.structs.replace(failing(), kernels=(REDUCE,))
    assert kernel_drawings(report, RenderContext(pictures=(same,))) == ([], 0)


def test_a_page_with_many_kernels_stays_within_its_limits() -> None:
    kernels = tuple(msgspec.structs.replace(SAXPY, name=f"k{at}") for at in range(200))
    report = msgspec.structs.replace(failing(), kernels=kernels)
    pictures = tuple(picture(kernel.name) for kernel in kernels)
    context = RenderContext(pictures=pictures, size_limit=20_000)
    drawn, more = kernel_drawings(report, context)
    assert (len({kernel.name for kernel in drawn}), more) == (MOST_KERNELS, 200 - MOST_KERNELS)
    for at in ("", "p/"):
        page = render(report, msgspec.structs.replace(context, pictures_at=at))
        assert len(page.encode()) <= 20_000
        assert "more in the report" in page


def test_equal_runs_draw_equal_bytes() -> None:
    first, second = (list(picture_files(kernel_drawings(failing(), PICTURED)[0])) for _ in range(2))
    assert first == second


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
def test_a_browser_shows_every_picture_at_its_size(tmp_path: Path, scheme: int) -> None:
    write_outputs([Output("markdown", str(tmp_path / "asmevo.md"))], failing(), PICTURED)
    files = sorted((tmp_path / "asmevo-pictures").glob(FILE_PATTERN))
    images = "".join(
        f'<img src="{file.as_uri()}" onload="this.title=naturalWidth + &quot; pixels&quot;" onerror="this.title=0">'
        for file in files
    )
    (tmp_path / "page.html").write_text(f"<!doctype html><body>{images}</body>")
    switches = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--dump-dom"]
    switches += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    switches += [f"--blink-settings=preferredColorScheme={scheme}", f"--user-data-dir={tmp_path / 'profile'}"]
    page = (tmp_path / "page.html").as_uri()
    done = subprocess.run([str(CHROMIUM), *switches, page], capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.count('title="720 pixels"') == len(files) == 3


def test_a_report_without_pictures_has_no_section() -> None:
    report: Report = msgspec.structs.replace(failing(), kernels=())
    assert "Registers and time" not in render(report, PICTURED)
