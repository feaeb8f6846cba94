"""Branches by a number of dwords go where the assembler puts their target."""

from __future__ import annotations

import pytest

from asmevo_gate.gate.file_check import check_text
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind
from asmevo_gate.verify.assembler import NotAssembled, find_assembler
from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler
from asmevo_gate.verify.numeric_branches import has_numeric_branches, label_numeric_branches

TARGET = parse_target("gfx90a")
pytestmark = pytest.mark.skipif(
    isinstance(find_assembler(TARGET), NotAssembled) or isinstance(find_disassembler(), NotDisassembled),
    reason="no AMDGPU assembler or disassembler (llvm-mc, llvm-objdump) is installed",
)
LOOP = """\
k:
  s_nop 0
  v_add_f32 v0, 0x3f123456, v1
  v_add_f32 v0, v1, s2
  s_sub_u32 s0, s0, 1
  s_cbranch_scc0 {back}
  s_cbranch_vccz 2
  v_mov_b32 v2, 0x12345678
  s_endpgm
"""


def successors(text: str) -> list[tuple[int, ...]]:
    source = label_numeric_branches(parse_source("k.s", text), TARGET, 64)
    (function,) = build_program(source, TARGET).functions
    return [block.successors for block in function.blocks]


def test_offsets_count_the_dwords_of_the_chosen_encodings() -> None:
    # Back over s_sub (1), the e64 addition (2), the addition with a literal (2) and the branch itself (1).
    assert successors(LOOP.format(back=-6)) == [(1,), (1, 2), (4, 3), (4,), ()]


def test_offsets_may_be_written_as_16_bit_words() -> None:
    assert successors(LOOP.format(back=0xFFFA)) == successors(LOOP.format(back=-6))


def test_an_offset_into_an_instruction_stays_unknown() -> None:
    checked = check_text("k.s", LOOP.format(back=-5), TARGET, SourceOptions())
    assert any("branch to '-5'" in unknown.reason for unknown in checked.unknown)


def test_branches_keep_their_place_and_other_code_is_left_alone() -> None:
    source = parse_source("k.s", LOOP.format(back=-6))
    labelled = label_numeric_branches(source, TARGET, 64)
    before = [one for one in source.statements if one.kind is Kind.INSTRUCTION]
    after = [one for one in labelled.statements if one.kind is Kind.INSTRUCTION]
    assert [one.place for one in after] == [one.place for one in before]
    assert [one.text for one in after if "branch" not in one.text] == [
        one.text for one in before if "branch" not in one.text
    ]


def test_code_that_does_not_assemble_says_so() -> None:
    source = label_numeric_branches(
        parse_source("k.s", "k:\n  s_branch 1\n  v_frobnicate v0\n  s_endpgm\n"), TARGET, 64
    )
    assert ["does not assemble" in problem.message for problem in source.problems] == [True]


def test_branches_to_labels_need_no_layout() -> None:
    assert not has_numeric_branches(parse_source("k.s", "k:\n  s_branch k\n  s_cbranch_scc0 .L1\n.L1:\n  s_endpgm\n"))
