"""Answers of the prover on small blocks whose answer is known."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.registers import EXEC, SCC, VCC
from asmevo_gate.isa.targets import find_target
from asmevo_gate.proof import solver
from asmevo_gate.proof.equivalence import ProofOptions, Prover
from tests.proof.blocks import EVERYTHING, decode, prove, vgprs

EQUAL = {
    "independent instructions change places": (
        "v_add_f32 v0, v1, v2; v_mul_f32 v3, v4, v5",
        "v_mul_f32 v3, v4, v5; v_add_f32 v0, v1, v2",
    ),
    "integer operands commute": ("v_add_u32 v0, v1, v2", "v_add_u32 v0, v2, v1"),
    "a float constant commutes": ("v_add_f32 v0, 1.0, v2", "v_add_f32_e64 v0, v2, 1.0"),
    "a shift is a product": ("v_lshlrev_b32 v0, 3, v1", "v_mul_lo_u32 v0, v1, 8"),
    "a copy is its source": ("v_mov_b32 v0, v1; v_add_u32 v2, v0, v3", "v_add_u32 v2, v1, v3; v_mov_b32 v0, v1"),
    "an uninterpreted function of equal values": (
        "v_mov_b32 v0, v1; v_cvt_pk_bf8_f32 v2, v0, v3",
        "v_mov_b32 v0, v1; v_cvt_pk_bf8_f32 v2, v1, v3",
    ),
    "a load of an equal address": (
        "v_lshlrev_b32 v1, 2, v0; global_load_dword v2, v1, s[0:1]",
        "v_mul_lo_u32 v1, v0, 4; global_load_dword v2, v1, s[0:1]",
    ),
    "a comparison turned round": ("v_cmp_lt_i32 vcc, v0, v1", "v_cmp_gt_i32 vcc, v1, v0"),
    "computation under a narrower mask": (
        "s_and_saveexec_b64 s[2:3], vcc; v_add_u32 v0, v1, v2; s_mov_b64 exec, s[2:3]",
        "s_and_saveexec_b64 s[2:3], vcc; v_add_u32 v0, v2, v1; s_mov_b64 exec, s[2:3]",
    ),
    "a mask restored is the old mask": (
        "s_and_saveexec_b64 s[2:3], vcc; s_or_b64 exec, exec, s[2:3]; v_mov_b32 v0, v1",
        "s_and_saveexec_b64 s[2:3], vcc; s_mov_b64 exec, s[2:3]; s_cmp_lg_u64 exec, 0; v_mov_b32 v0, v1",
    ),
    "a lane written and read back": (
        "v_writelane_b32 v0, s4, 3; v_readlane_b32 s5, v0, 3",
        "v_writelane_b32 v0, s4, 3; s_mov_b32 s5, s4",
    ),
}

DIFFERENT = {
    "another operand": ("v_add_u32 v0, v1, v2", "v_add_u32 v0, v1, v3"),
    "a dropped instruction": ("v_add_u32 v0, v1, v2; v_add_u32 v3, v0, v0", "v_add_u32 v3, v0, v0"),
    "subtraction does not commute": ("v_sub_u32 v0, v1, v2", "v_sub_u32 v0, v2, v1"),
    "float sums do not associate": (
        "v_add_f32 v0, v1, v2; v_add_f32 v0, v0, v3",
        "v_add_f32 v0, v2, v3; v_add_f32 v0, v1, v0",
    ),
    "a fused product is another number": ("v_mul_f32 v0, v1, v2; v_add_f32 v0, v0, v3", "v_fma_f32 v0, v1, v2, v3"),
    "a strict comparison": ("v_cmp_lt_u32 vcc, v1, v2", "v_cmp_le_u32 vcc, v1, v2"),
    "not less is not greater or equal for floats": ("v_cmp_nlt_f32 vcc, v1, v2", "v_cmp_ge_f32 vcc, v1, v2"),
    "a carry ignored": (
        "v_add_co_u32 v0, vcc, v1, v2; v_addc_co_u32 v3, vcc, v4, v5, vcc",
        "v_add_u32 v0, v1, v2; v_addc_co_u32 v3, vcc, v4, v5, vcc",
    ),
    "a mask narrowed too early": (
        "v_mov_b32 v0, v1; s_and_b64 exec, exec, vcc",
        "s_and_b64 exec, exec, vcc; v_mov_b32 v0, v1",
    ),
    "adding zero loses the sign of zero": ("v_mov_b32 v0, v1", "v_add_f32 v0, 0, v1"),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_blocks_are_proved(case: str) -> None:
    old, new = EQUAL[case]
    proof = prove(old, new, dead=SCC if "restored" in case else 0)
    assert proof.answer == "proved", proof


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_blocks_are_refuted_with_inputs(case: str) -> None:
    old, new = DIFFERENT[case]
    proof = prove(old, new)
    assert proof.answer == "refuted", proof
    assert proof.counterexample is not None
    assert proof.counterexample.old != proof.counterexample.new
    assert proof.counterexample.inputs


def test_two_nans_keep_a_float_sum_from_commuting() -> None:
    assert prove("v_add_f32 v0, v1, v2", "v_add_f32 v0, v2, v1").answer == "not_proved"
    options = ProofOptions(nan_payloads="any")
    assert prove("v_add_f32 v0, v1, v2", "v_add_f32 v0, v2, v1", options=options).answer == "proved"


def test_memory_operations_keep_their_order() -> None:
    load, store = "global_load_dword v0, v1, s[0:1]", "global_store_dword v1, v2, s[2:3]"
    proof = prove(f"{load}; {store}", f"{store}; {load}")
    assert proof.answer == "not_proved"
    assert "global_load_dword" in proof.reason


def test_an_unknown_function_of_another_value_is_not_refuted() -> None:
    proof = prove("v_exp_f32 v0, v1", "v_exp_f32 v0, v2")
    assert proof.answer == "not_proved"
    assert "not modelled" in proof.reason


def test_registers_that_are_not_named_are_out_of_scope() -> None:
    proof = prove("v_movrels_b32 v0, v1", "v_movrels_b32 v0, v1", gpu="gfx1030")
    assert proof.answer == "out_of_scope"


@pytest.mark.skipif(not solver.available(), reason="bitwuzla is not installed")
def test_the_solver_proves_what_the_normal_form_does_not() -> None:
    old = "v_xor_b32 v0, v1, v2"
    new = "v_or_b32 v3, v1, v2; v_and_b32 v4, v1, v2; v_sub_u32 v0, v3, v4"
    proof = prove(old, new, dead=vgprs(3, 4))
    assert proof.answer == "proved"
    assert proof.solved == 1
    assert prove(old, new, dead=vgprs(3, 4), options=ProofOptions(solver_milliseconds=0)).answer == "not_proved"


def test_inactive_lanes_count() -> None:
    """Copying through another register leaves its inactive lanes alone, but a live register keeps its own."""
    assert prove("v_mov_b32 v0, v1; v_mov_b32 v2, v0", "v_mov_b32 v2, v1", dead=vgprs(0)).proved
    whole = prove("v_mov_b32 v0, v1; v_readlane_b32 s0, v0, s1", "v_mov_b32 v0, v1; v_readlane_b32 s0, v1, s1")
    assert whole.answer == "refuted"


def test_masks_are_compared_lane_by_lane() -> None:
    old = "v_cmp_lt_u32 vcc, v0, v1; s_and_b64 vcc, vcc, exec"
    assert prove(old, "v_cmp_lt_u32 vcc, v0, v1", dead=SCC).proved
    assert prove("s_and_b64 vcc, vcc, exec", "s_mov_b64 vcc, vcc", dead=SCC).answer == "refuted"
    assert not EXEC & VCC


def test_an_exclusive_or_of_masks_is_no_negation() -> None:
    """Lanes of (vcc xor s[0:1]) are not the lanes outside vcc."""
    old = (
        "s_mov_b64 s[4:5], exec; s_mov_b64 exec, vcc; v_mov_b32 v0, v1; s_xor_b64 exec, vcc, s[0:1]; v_mov_b32 v2, v0;"
        "s_mov_b64 exec, s[4:5]"
    )
    new = old.replace("v_mov_b32 v0, v1;", "").replace("v_mov_b32 v2, v0;", "v_mov_b32 v2, v0; s_mov_b64 exec, vcc;")
    new = new.replace("s_mov_b64 exec, s[4:5]", "v_mov_b32 v0, v1; s_mov_b64 exec, s[4:5]")
    assert prove(old, new, dead=SCC).answer == "refuted"


@pytest.mark.parametrize("text", ["v_mov_b32 v0, src_lds_direct", "s_mov_b32 s0, src_vccz"])
def test_what_is_no_register_is_out_of_scope(text: str) -> None:
    assert prove(text, text, gpu="gfx906").answer == "out_of_scope"


def test_scc_can_be_an_operand() -> None:
    assert prove("s_cmp_eq_u32 s0, s1; s_mov_b32 s2, src_scc", "s_cmp_eq_u32 s1, s0; s_mov_b32 s2, src_scc").proved


def test_long_chains_are_proved_in_reasonable_time() -> None:
    """A slice of a deep computation with shared parts: neither deep recursion nor one visit for each path."""
    rounds = "v_mul_lo_u32 v0, v0, v0; v_xor_b32 v0, v0, v1; v_add_u32 v0, v0, v0; " * 300
    old, new = "v_and_b32 v2, 0xffff, v0", "v_mov_b32 v3, 0xffff; v_and_b32 v2, v0, v3"
    assert prove(rounds + old, rounds + new, dead=vgprs(3)).proved


def test_a_quick_yes_or_no_agrees_with_the_full_answer() -> None:
    target = find_target("gfx942")
    for old, new in [*EQUAL.values(), *DIFFERENT.values()]:
        prover = Prover(target, 64)
        before = prover.execute(decode(old))
        after = prover.follow(before, decode(new))
        assert prover.accepts(before, after, EVERYTHING) == prover.compare(before, after, EVERYTHING).proved


def test_a_rare_scalar_difference_is_found() -> None:
    """Only a NaN tells these apart, and a wavefront has one value of a scalar register."""
    proof = prove("s_cmp_nlt_f32 s0, s1", "s_cmp_ge_f32 s0, s1", gpu="gfx1200")
    assert proof.answer == "refuted"
    assert proof.counterexample is not None
    assert proof.counterexample.lane is None or proof.counterexample.register == "scc"
