"""Plain files: statements, places, sections."""

from __future__ import annotations

from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind, Source

PLAIN = """\
\t.amdgcn_target "amdgcn-amd-amdhsa--gfx90a" ; comment; more
\t.text
kernel:                 ; @kernel
first: second: s_nop 0  // several labels
\tv_mov_b32_e32 v0, /* in
the middle */ v1
# a comment
\ts_endpgm
\t.section\t.rodata,"a",@progbits
\t.long 3
.amdhsa_kernel kernel
.end_amdhsa_kernel
\t.text
.Lend:
\t.long 0xbf800000
x = 4
\t.set y, x + 1
\t.amdgpu_metadata
---
amdhsa.kernels: [ 'a: "b ; c"' ]
...
\t.end_amdgpu_metadata
"""


def statements(text: str) -> list[tuple[Kind, str, str]]:
    return [(s.kind, s.name, s.rest) for s in parse_source("k.s", text).statements]


def test_plain_statements() -> None:
    assert statements(PLAIN) == [
        (Kind.DIRECTIVE, ".amdgcn_target", '"amdgcn-amd-amdhsa--gfx90a"'),
        (Kind.DIRECTIVE, ".text", ""),
        (Kind.LABEL, "kernel", ""),
        (Kind.LABEL, "first", ""),
        (Kind.LABEL, "second", ""),
        (Kind.INSTRUCTION, "s_nop", "0"),
        (Kind.INSTRUCTION, "v_mov_b32_e32", "v0,   v1"),
        (Kind.INSTRUCTION, "s_endpgm", ""),
        (Kind.DIRECTIVE, ".section", '.rodata,"a",@progbits'),
        (Kind.DIRECTIVE, ".long", "3"),
        (Kind.DIRECTIVE, ".amdhsa_kernel", "kernel"),
        (Kind.DIRECTIVE, ".end_amdhsa_kernel", ""),
        (Kind.DIRECTIVE, ".text", ""),
        (Kind.LABEL, ".Lend", ""),
        (Kind.DATA, ".long", "0xbf800000"),
        (Kind.ASSIGNMENT, "x", "4"),
        (Kind.ASSIGNMENT, "y", "x + 1"),
        (Kind.DIRECTIVE, ".amdgpu_metadata", "---\namdhsa.kernels: [ 'a: \"b ; c\"' ]\n...\n"),
    ]


def test_places_slice_to_the_written_text() -> None:
    source: Source = parse_source("k.s", PLAIN)
    lines = PLAIN.split("\n")
    for statement in source.statements:
        place = statement.place
        written = PLAIN[place.start : place.end]
        assert lines[place.line - 1][place.column - 1 :].startswith(written.split("\n")[0])
        if "/*" not in written:
            assert written == statement.text
        else:
            assert written == "v_mov_b32_e32 v0, /* in\nthe middle */ v1"
    assert [s.place.line for s in source.statements][6:9] == [5, 8, 9]


def test_sections_follow_push_pop_and_previous() -> None:
    text = ".text\n.pushsection .foo\n.long 1\n.popsection\n.long 2\n.section .bar\n.previous\n.long 3\n"
    found = [(s.kind, s.section) for s in parse_source("k.s", text).statements if s.name == ".long"]
    assert found == [(Kind.DIRECTIVE, ".foo"), (Kind.DATA, ".text"), (Kind.DATA, ".text")]


def test_what_has_no_value_keeps_its_spelling() -> None:
    text = "\ts_add_u32\ts0, s0,  sym@rel32@lo+4\n\ts_mov_b32\ts1, 2*3\n"
    assert [s.text for s in parse_source("k.s", text).statements] == [
        "s_add_u32\ts0, s0,  sym@rel32@lo+4",
        "s_mov_b32 s1, 6",
    ]


def test_mnemonics_are_read_in_lower_case() -> None:
    text = ".macro S_STORE a\n s_mov_b32 s0, \\a\n.endm\nx = 3\n V_Mov_B32 v[x], v1\n S_STORE 1\n S_Nop 0\n"
    found = [(s.name, s.text) for s in parse_source("k.s", text).statements if s.kind is Kind.INSTRUCTION]
    assert found == [("v_mov_b32", "v_mov_b32 v[3], v1"), ("s_mov_b32", "s_mov_b32 s0, 1"), ("s_nop", "s_nop 0")]
