from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.markdown import MARKER, render
from asmevo_gate.report.text import markdown_block, markdown_code, markdown_text, one_line, visible
from tests.report.samples import CONTEXT, SAMPLES, failing, not_checked, with_text
from tests.report.strategies import for_any, text

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(page: str) -> list[Token]:
    """Every block and inline token of a page."""
    return [inner for token in PARSER.parse(page) for inner in (token, *(token.children or ()))]


def test_the_verdict_comes_first_then_changes_then_findings_then_rewrites_then_how_to_repeat() -> None:
    page = render(failing(), CONTEXT)
    marks = [
        MARKER,
        "## asmevo-gate: fail",
        "### Changes",
        "▼ -1",
        "**worse**",
        "### New findings",
        "### Rewrites",
    ]
    marks += ["Reproduce: `asmevo-gate check --base main"]
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)


def test_a_table_row_has_direction_amount_and_word() -> None:
    page = render(failing(), CONTEXT)
    assert "| `saxpy` (gfx90a) | occupancy (waves/SIMD) | 8 | 7 | ▼ -1 (-12 %) | **worse** |" in page
    assert "| `saxpy` (gfx90a) | LDS (bytes) | 8192 | 4096 | ▼ -4096 (-50 %) | better |" in page


def test_what_was_not_checked_is_listed_with_what_to_do() -> None:
    page = render(not_checked(), CONTEXT)
    assert "### Not checked" in page and "To resolve" in page and "so this is no pass" in page


def test_what_does_not_fit_is_counted() -> None:
    report = failing()
    many = type(report)(**{
        **{name: getattr(report, name) for name in report.__struct_fields__}, "findings": report.findings * 500
    })  # fmt: skip
    for limit in (2_000, 5_000, 60_000):
        page = render(many, RenderContext(size_limit=limit, max_findings=10_000))
        assert len(page.encode("utf-8")) <= limit
        assert re.search(r"\n[\d,]+ more in the report\.\n", page)
        assert "Reproduce: " in page
    assert "\n980 more in the [report](https://ci.example.org" in render(many, CONTEXT)


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_table_row_has_six_cells(sample: str) -> None:
    rows = [token for token in PARSER.parse(render(SAMPLES[sample](), CONTEXT)) if token.type == "tr_open"]
    cells = [
        token for token in PARSER.parse(render(SAMPLES[sample](), CONTEXT)) if token.type in ("td_open", "th_open")
    ]
    assert len(cells) == 6 * len(rows)


@for_any(text)
def test_a_code_span_shows_the_name_and_nothing_else(anything: str) -> None:
    parsed = tokens(f"x {markdown_code(anything)} y")
    (code,) = [token for token in parsed if token.type == "code_inline"]
    assert code.content == (visible(anything) if visible(anything).strip() else " ")


@for_any(text)
def test_a_name_stays_in_its_table_cell(anything: str) -> None:
    row = f"| {markdown_code(anything, in_table=True)} | {markdown_text(anything)} | last |"
    parsed = PARSER.parse(f"| a | b | c |\n| - | - | - |\n{row}\n")
    assert [token.type for token in parsed].count("tr_open") == 2
    assert [token.content for token in parsed if token.type == "inline"][-1] == "last"


def test_nobody_is_mentioned_and_nothing_is_referred_to() -> None:
    shown = markdown_text("@all #12 !3 ~bug %1 &2 $4 a@b.example")
    assert not re.search(r"[@#!~%&$]\w", shown)


@for_any(text)
def test_prose_shows_its_characters_and_is_no_markup(anything: str) -> None:
    parsed = tokens(f"- {markdown_text(anything)}\n")
    shown = "".join(t.content for t in parsed if t.type in ("text", "text_special"))
    assert shown.replace("\u200b", "") == one_line(anything).replace("\u200b", "")
    assert {token.type for token in parsed} <= {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "text_special", "paragraph_close",
        "list_item_close", "bullet_list_close",
    }  # fmt: skip


@for_any(text)
def test_a_block_ends_where_it_should(anything: str) -> None:
    parsed = PARSER.parse(f"{markdown_block([anything, 'last'])}\n\nafter\n")
    assert [token.type for token in parsed] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert parsed[0].content == f"{visible(anything)}\nlast\n"


@for_any(text)
def test_no_text_makes_html_images_or_links(anything: str) -> None:
    page = render(with_text(anything), RenderContext())
    page.encode("utf-8")
    parsed = tokens(page)
    html = [token.content.strip() for token in parsed if token.type in ("html_block", "html_inline")]
    assert html == [MARKER]
    assert not [token for token in parsed if token.type in ("link_open", "image")]
    assert not re.search(r"(?m)^/", page)
