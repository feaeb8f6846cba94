"""No text makes the source reader crash, hang or lie about places."""

from __future__ import annotations

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import LimitError
from asmevo_gate.source.options import SourceLimits, SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind

OPTIONS = SourceOptions(
    limits=msgspec.structs.replace(SourceLimits(), statements=5_000, expanded_characters=500_000, seconds=10)
)

_WORDS = st.sampled_from(
    [
        ".macro", ".endm", ".rept", ".endr", ".irp", ".irpc", ".if", ".elseif", ".else", ".endif", ".ifdef", ".ifc",
        ".set", ".equ", ".equiv", ".altmacro", ".noaltmacro", ".exitm", ".purgem", ".error", ".end", ".text", ".long",
        ".section", ".pushsection", ".popsection", ".previous", ".amdgpu_metadata", ".end_amdgpu_metadata", ".include",
        ".incbin", "LOCAL", "m", "a", "b", "x", "\\a", "\\b", "\\@", "\\+", "\\()", "&", "%", "1", "2", "0x10", "1b",
        "1f", "1:", "a:", "=", "==", "+", "-", "*", "/", "(", ")", "[", "]", "<", ">", "!", "~", "|", "||", "&&", "<<",
        ",", ":", ";", "//", "/*", "*/", "#", '"', "'", "v0", "v[a:a+3]", "s[0:1]", "s_nop", "v_mov_b32", "vmcnt(",
        "\n",        "\n", "\n", " ", " ", "\t", "\r\n", "a:req", "b:vararg", "b=3", "3000000", "max(",
    ]
)  # fmt: skip
_PROGRAMS = st.lists(st.one_of(_WORDS, st.text(max_size=3)), max_size=80).map(" ".join)
_PLAIN_LINES = ["s_nop 0", "v_mov_b32 v0, v1", "l%d:", "  s_endpgm ; end", "", "// c", ".long 1"]
_TEXTS = st.one_of(_PROGRAMS, st.text(max_size=200), st.lists(_WORDS, max_size=80).map("".join))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS)
def test_any_text_is_read_or_refused_with_a_limit(text: str) -> None:
    try:
        source = parse_source("fuzz.s", text, OPTIONS)
    except LimitError as error:
        assert "limit" in error.message
        return
    assert source.text == text
    for item in (*source.statements, *source.problems):
        for place in (item.place, *(frame.place for frame in item.frames)):
            assert place.file == "fuzz.s"
            assert 0 <= place.start <= place.end <= len(text)
            assert place.line == text.count("\n", 0, place.start) + 1
            assert place.column == place.start - (text.rfind("\n", 0, place.start) + 1) + 1
    for statement in source.statements:
        written = text[statement.place.start : statement.place.end]
        assert written == written.strip(" \t")
        if statement.kind is Kind.ASSIGNMENT and not statement.frames and "/*" not in written:
            assert written == statement.text


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["s_nop 0", "v_mov_b32 v0, v1", "l%d:", "  s_endpgm ; end", "", "// c", ".long 1"]), max_size=30
    )
)
def test_plain_lines_come_out_as_they_went_in(lines: list[str]) -> None:
    lines = [line.replace("%d", str(number)) for number, line in enumerate(lines)]
    text = "\n".join(lines)
    source = parse_source("fuzz.s", text)
    assert source.problems == ()
    expected = [line.split(";")[0].split("//")[0].strip() for line in lines]
    assert [s.text for s in source.statements] == [line for line in expected if line]
    assert all(text[s.place.start : s.place.end] == s.text for s in source.statements)
