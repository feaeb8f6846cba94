"""Machine words in text become instructions at their own lines."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind
from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler
from asmevo_gate.verify.machine_words import expand_machine_words, has_machine_words

TARGET = parse_target("gfx90a")

needs_disassembler = pytest.mark.skipif(
    isinstance(find_disassembler(), NotDisassembled), reason="no AMDGPU disassembler (llvm-objdump) is installed"
)
# v_mov_b32 v0, 1.0 with a literal (two words), s_sub_u32 s0, s0, 1; s_cbranch_scc0 back to it; s_endpgm
WORDS = """\
.text
k:
  .long 0x7e0002ff
  .long 0x12345678
.Lmine:
  .long 0x80808100, 0xbf84fffe
  .quad 0xbf810000bf800000
"""


@needs_disassembler
def test_each_instruction_stands_at_the_line_of_its_first_word() -> None:
    source = expand_machine_words(parse_source("k.s", WORDS), TARGET, 64)
    made = [(one.place.line, one.text) for one in source.statements if one.kind is Kind.INSTRUCTION]
    assert made == [
        (3, "v_mov_b32_e32 v0, 0x12345678"),
        (6, "s_sub_u32 s0, s0, 1"),
        (6, "s_cbranch_scc0 .Lwords_3_8"),
        (7, "s_nop 0"),
        (7, "s_endpgm"),
    ]


@needs_disassembler
def test_branches_and_labels_in_words_make_the_control_flow() -> None:
    source = expand_machine_words(parse_source("k.s", WORDS), TARGET, 64)
    (function,) = build_program(source, TARGET).functions
    assert [block.successors for block in function.blocks] == [(1,), (1, 2), ()]
    assert all(instruction.decoded is not None for instruction in function.instructions)


@needs_disassembler
def test_words_that_are_no_numbers_stay_and_say_why() -> None:
    source = expand_machine_words(parse_source("k.s", ".text\nk:\n  .long other-k\n  s_endpgm\n"), TARGET, 64)
    assert [problem.severity for problem in source.problems] == ["unknown"]
    assert "plain number" in source.problems[0].message
    assert [one.kind for one in source.statements if one.kind is Kind.DATA] == [Kind.DATA]


def test_without_a_disassembler_the_words_stay_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = NotDisassembled("none was found", "install one")
    monkeypatch.setattr("asmevo_gate.verify.disassembler.find_disassembler", lambda: reason)
    source = expand_machine_words(parse_source("k.s", WORDS), TARGET, 64)
    assert [problem.severity for problem in source.problems] == ["unknown"]
    assert len([one for one in source.statements if one.kind is Kind.DATA]) == 4


def test_padding_is_no_machine_code() -> None:
    assert not has_machine_words(parse_source("k.s", ".text\nk:\n  s_endpgm\n  .fill 48, 4, 3212836864\n"))


@needs_disassembler
def test_hundreds_of_words_between_instructions_are_disassembled_at_once() -> None:
    text = ".text\nk:\n" + "  s_nop 1\n  .long 0xbf800000\n" * 300 + "  s_endpgm\n"
    source = expand_machine_words(parse_source("k.s", text), TARGET, 64)
    assert [one.text for one in source.statements if one.kind is Kind.INSTRUCTION] == [
        *["s_nop 1", "s_nop 0"] * 300,
        "s_endpgm",
    ]
    assert not source.problems


@needs_disassembler
def test_an_instruction_that_is_cut_off_says_so_and_leaves_the_next_words_alone() -> None:
    text = ".text\nk:\n  .long 0x7e0002ff\n  s_nop 1\n  .long 0xbf810000\n"
    source = expand_machine_words(parse_source("k.s", text), TARGET, 64)
    assert ["cut off" in problem.message for problem in source.problems] == [True]
    assert [one.text for one in source.statements if one.kind is Kind.INSTRUCTION] == ["s_nop 1", "s_endpgm"]


@needs_disassembler
def test_words_that_the_disassembler_does_not_know_stay_words_and_say_why() -> None:
    source = expand_machine_words(parse_source("k.s", ".text\nk:\n  .long 0xbf800000, 0xffffffff\n"), TARGET, 64)
    assert [one.kind for one in source.statements][-2:] == [Kind.INSTRUCTION, Kind.DATA]
    assert ["does not know" in problem.message for problem in source.problems] == [True]
