"""Places and chains of uses of expanded statements, and problems."""

from __future__ import annotations

import pytest

from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind, Source, Statement
from asmevo_gate.source.symbols import predefined_symbols

NESTED = """\
.macro inner reg
 s_nop 0
  v_mov_b32 v\\reg, 1 // comment
.endm
.macro outer
 .rept 2
 inner 7
 .endr
.endm
 outer
"""


def instructions(source: Source) -> list[Statement]:
    return [statement for statement in source.statements if statement.kind is Kind.INSTRUCTION]


def test_an_expanded_statement_knows_its_place_and_every_use() -> None:
    source = parse_source("k.s", NESTED)
    found = instructions(source)
    assert [statement.text for statement in found] == ["s_nop 0", "v_mov_b32 v7, 1"] * 2
    move = found[1]
    assert (move.place.line, move.place.column) == (3, 3)
    assert NESTED[move.place.start : move.place.end] == "v_mov_b32 v\\reg, 1"
    assert [(frame.name, frame.place.line) for frame in move.frames] == [("outer", 10), (".rept", 6), ("inner", 7)]
    assert NESTED[move.outer_place.start : move.outer_place.end] == "outer"


def test_a_macro_defined_in_a_macro_keeps_places_in_the_file() -> None:
    text = ".macro a\n .macro b\n  s_nop 3\n .endm\n.endm\n a\n b\n"
    statement = instructions(parse_source("k.s", text))[0]
    assert statement.place.line == 3
    assert text[statement.place.start : statement.place.end] == "s_nop 3"
    assert [(frame.name, frame.place.line) for frame in statement.frames] == [("b", 7)]


def test_unexpanded_statements_have_no_frames_and_slice_to_their_text() -> None:
    text = NESTED + "label: s_nop 1 ; x\n .set a, 4\n v_mov_b32 v[a], /* y */ a\n"
    source = parse_source("k.s", text)
    assert source.text == text
    plain = [statement for statement in source.statements if not statement.frames]
    assert [text[s.place.start : s.place.end] for s in plain] == [
        "label:",
        "s_nop 1",
        ".set a, 4",
        "v_mov_b32 v[a], /* y */ a",
    ]
    assert plain[-1].text == "v_mov_b32 v[4],   4"


def test_symbols_hold_the_final_absolute_values() -> None:
    source = parse_source("k.s", "a = 1\na = a + 1\nb = c * 2\nc = 4\nd = nowhere\n", SourceOptions(defines={"n": 9}))
    assert {name: source.symbols.get(name) for name in "abcdn"} == {"a": 2, "b": 8, "c": 4, "d": None, "n": 9}


@pytest.mark.parametrize(
    ("processor", "numbers"),
    [("gfx90a", (9, 0, 10)), ("amdgcn-amd-amdhsa--gfx1201", (12, 0, 1)), ("gfx1151", (11, 5, 1))],
)
def test_the_target_directive_defines_the_generation(processor: str, numbers: tuple[int, int, int]) -> None:
    names = [f".amdgcn.gfx_generation_{part}" for part in ("number", "minor", "stepping")]
    assert tuple(predefined_symbols(processor)[name] for name in names) == numbers
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--{processor.rpartition("-")[2]}"\ns_nop .amdgcn.gfx_generation_number\n'
    assert instructions(parse_source("k.s", text))[0].text == f"s_nop {numbers[0]}"


def test_unresolved_symbols_stay_as_written() -> None:
    source = parse_source("k.s", "v_mov_b32 v[later], unknown + 1\ns_branch target\nlater = 3\n")
    assert [s.text for s in instructions(source)] == ["v_mov_b32 v[later], unknown + 1", "s_branch target"]


def test_an_unknown_condition_is_reported_with_the_symbol_to_define() -> None:
    source = parse_source("k.s", ".if stride > 4\ns_nop 0\n.else\ns_nop 1\n.endif\n")
    assert [(p.severity, p.place.line) for p in source.problems] == [("unknown", 1)]
    assert "'stride'" in source.problems[0].repair


def test_a_problem_in_a_macro_names_the_chain() -> None:
    source = parse_source("k.s", '.macro check n\n.if \\n > 3\n.error "too large"\n.endif\n.endm\ncheck 1\ncheck 5\n')
    (problem,) = source.problems
    assert (problem.severity, problem.message, problem.place.line) == ("error", "too large", 3)
    assert [(frame.name, frame.place.line) for frame in problem.frames] == [("check", 7)]


def test_directives_of_old_code_objects_are_kept_for_a_rule() -> None:
    text = ".hsa_code_object_version 2,0\n.amdgpu_hsa_kernel k\nk:\n"
    text += ".amd_kernel_code_t\n is_ptr64 = 1\n.end_amd_kernel_code_t\n"
    source = parse_source("k.s", text)
    assert [(s.name, s.rest) for s in source.statements if s.kind is Kind.DIRECTIVE] == [
        (".hsa_code_object_version", "2,0"),
        (".amdgpu_hsa_kernel", "k"),
        (".amd_kernel_code_t", " is_ptr64 = 1\n"),
    ]
    assert "is_ptr64" not in source.symbols


def test_local_labels_of_gnu_as_expand_and_are_reported() -> None:
    text = ".altmacro\n.macro m n\n LOCAL top\ntop: s_nop n\n s_branch top\n.endm\nm 1\nm 2\n"
    source = parse_source("k.s", text)
    assert [s.text for s in source.statements] == [
        ".LL0_top:", "s_nop 1", "s_branch .LL0_top", ".LL1_top:", "s_nop 2", "s_branch .LL1_top",
    ]  # fmt: skip
    assert [p.message for p in source.problems] == ["LLVM's assembler does not know LOCAL"]


def test_padding_whose_length_only_the_layout_knows_is_no_problem() -> None:
    text = "start:\n s_endpgm\n.rept (256 - (. - start) % 64) / 4\n s_code_end\n.endr\n"
    source = parse_source("k.s", text)
    assert not source.problems
    assert [one.text for one in instructions(source)] == ["s_endpgm", "s_code_end"]


@pytest.mark.parametrize("body", ["s_nop 0", " s_code_end\n s_nop 0", "", ".long 0"])
def test_anything_else_repeated_so_is_reported(body: str) -> None:
    source = parse_source("k.s", f"start:\n.rept (. - start) / 4\n{body}\n.endr\n")
    assert [problem.severity for problem in source.problems] == ["unknown"]
