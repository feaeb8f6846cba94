"""Two versions of a kernel: which blocks differ, and the answer for each."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Program
from asmevo_gate.proof.comparison import Comparison, compare_programs
from asmevo_gate.proof.timing import memory_waits
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from tests.proof.kernels import KERNEL


def _program(text: str) -> Program:
    return build_program(parse_source("k.s", text, SourceOptions()), find_target("gfx942"))


def compare(*changes: tuple[str, str]) -> Comparison:
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return compare_programs(_program(KERNEL), _program(text), (memory_waits,))


PROVED = {
    "operands commuted": (("v_add_u32_e32 v3, v3, v2", "v_add_u32_e32 v3, v2, v3"),),
    "an address computed otherwise": (("v_lshlrev_b32_e32 v0, 2, v0", "v_mul_lo_u32 v0, v0, 4"),),
    "a label renamed": ((".L1", ".Lnew"),),
    "a stronger wait": (("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0) lgkmcnt(0)"),),
    "a temporary renamed": (
        ("v_add_f32_e32 v2, v1, v1", "v_add_f32_e32 v2, v1, v1\n  v_mov_b32 v7, v2"),
        ("v_mul_f32_e32 v3, v2, v1", "v_mul_f32_e32 v3, v7, v1"),
    ),
    "moved up over a wait": (
        ("  s_waitcnt lgkmcnt(0)\n", ""),
        ("  v_lshlrev_b32_e32 v0, 2, v0\n", "  s_waitcnt lgkmcnt(0)\n  v_lshlrev_b32_e32 v0, 2, v0\n"),
    ),
}


@pytest.mark.parametrize("case", PROVED)
def test_equal_versions_are_proved(case: str) -> None:
    assert compare(*PROVED[case]).answer == "proved"


def test_no_difference_is_proved_without_blocks() -> None:
    found = compare(("  s_endpgm", "  s_endpgm ; done"))
    assert found.answer == "proved"
    assert found.blocks == ()


def test_only_blocks_that_differ_are_listed() -> None:
    found = compare(PROVED["operands commuted"][0])
    assert [block.answer for block in found.blocks] == ["proved"]
    assert found.blocks[0].line == 14


def test_a_wrong_operation_is_refuted_with_register_lane_and_inputs() -> None:
    found = compare(("v_add_u32_e32 v3, v3, v2", "v_sub_u32_e32 v3, v3, v2"))
    assert found.answer == "refuted"
    example = found.blocks[0].counterexample
    assert example is not None
    assert example.register == "v3"
    assert example.lane is not None
    difference = (example.inputs["v3"] - example.inputs["v2"]) & 0xFFFFFFFF  # type: ignore[operator]
    assert example.new == difference


def test_a_wrong_stored_value_is_refuted() -> None:
    found = compare(("global_store_dword v0, v3", "global_store_dword v0, v2"))
    assert found.answer == "refuted"


def test_a_loaded_value_can_be_part_of_a_counterexample() -> None:
    found = compare(("v_add_f32_e32 v2, v1, v1", "v_mul_f32_e32 v2, v1, v1"))
    assert found.answer == "refuted"
    example = found.blocks[0].counterexample
    assert example is not None
    assert any(name.startswith("loaded by global_load_dword") for name in example.inputs)


def test_a_weaker_wait_is_not_accepted() -> None:
    found = compare(("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(1)"))
    assert found.answer == "not_proved"
    assert "global_load_dword" in found.blocks[0].reason


def test_a_use_moved_before_its_wait_is_not_accepted() -> None:
    found = compare(
        ("  s_waitcnt vmcnt(0)\n", ""),
        ("  v_add_f32_e32 v2, v1, v1\n", "  v_add_f32_e32 v2, v1, v1\n  s_waitcnt vmcnt(0)\n"),
    )
    assert found.answer == "not_proved"


OUT_OF_SCOPE = {
    "another branch": ("s_cbranch_execz", "s_cbranch_vccz"),
    "another descriptor": (".amdhsa_next_free_vgpr 8", ".amdhsa_next_free_vgpr 6"),
    "another control flow": ("  s_waitcnt vmcnt(0)\n", ".L2:\n  s_waitcnt vmcnt(0)\n"),
    "a kernel gone": ("k:\n", "other:\n"),
}


@pytest.mark.parametrize("case", OUT_OF_SCOPE)
def test_what_is_not_a_change_of_blocks_is_out_of_scope(case: str) -> None:
    found = compare(OUT_OF_SCOPE[case])
    assert found.answer == "out_of_scope"
    assert all(block.reason for block in found.blocks)


def test_a_condition_of_a_branch_is_needed() -> None:
    found = compare(("v_cmp_lt_f32_e32 vcc, v2, v3", "v_cmp_gt_f32_e32 vcc, v2, v3"))
    assert found.answer == "refuted"


def test_the_answer_is_the_weakest() -> None:
    found = compare(
        ("v_add_u32_e32 v3, v3, v2", "v_add_u32_e32 v3, v2, v3"),
        ("global_store_dword v0, v3", "global_store_dword v0, v2"),
    )
    assert sorted(block.answer for block in found.blocks) == ["proved", "refuted"]
    assert found.answer == "refuted"
