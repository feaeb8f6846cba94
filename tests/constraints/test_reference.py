"""The reference engine: distances over paths, what clears a hazard, what is none."""

from __future__ import annotations

import pytest

from tests.constraints.programs import found, rules

_TOO_NEAR = [
    ("gfx900", "v_mov_b32 v0, 1\ns_nop 0\nv_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "haz.dpp.vgpr_write"),  # noqa: E501
    ("gfx906", "v_readfirstlane_b32 s4, v0\ns_nop 3\nglobal_load_dword v1, v2, s[4:5]", "haz.sgpr.vmem"),
    ("gfx90a", "s_mov_b32 m0, s4\ns_sendmsg sendmsg(MSG_INTERRUPT)", "haz.m0.sendmsg"),
    ("gfx90a", "v_mfma_f32_32x32x2f32 v[0:15], v40, v41, v[0:15]\ns_nop 15\ns_nop 1\nv_mov_b32 v50, v3", "haz.mfma.valu_read"),  # noqa: E501
    ("gfx942", "v_exp_f32 v0, v1\nv_add_f32 v2, v0, v0", "haz.trans.valu_read"),
    ("gfx950", "v_mov_b32 v0, 1\ns_nop 0\nv_permlane16_swap_b32 v0, v1", "haz.permlane_swap.vgpr_write"),
    ("gfx908", "v_accvgpr_write_b32 a0, v1\ns_nop 1\nv_accvgpr_read_b32 v2, a0", "haz.accvgpr_write.accvgpr_read"),
    ("gfx1010", "global_load_dword v0, v[2:3], off\ns_mov_b64 exec, -1", "haz.vmem.scalar_war"),
    ("gfx1010", "global_atomic_add v0, v[2:3], v4, off glc\ns_mov_b64 exec, -1", "haz.vmem.scalar_war"),
    ("gfx1010", "global_atomic_add v[2:3], v4, off\ns_mov_b64 exec, -1", "haz.vmem.scalar_war"),
    ("gfx906", "v_readlane_b32 vcc_lo, v0, 8\nv_readlane_b32 vcc_hi, v0, 9\ns_cbranch_vccz .L\n.L:", "haz.vccz.stale"),
    ("gfx942", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v4, v5, a[0:3]\nv_smfmac_f32_16x16x32_f16 a[0:3], v[0:1], v[2:5], v9", "haz.mfma.src_c_other_opcode"),  # noqa: E501
    ("gfx950", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v4, v5, a[0:3]\nv_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "haz.mfma.src_c_other_opcode"),  # noqa: E501
    ("gfx950", "v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v4, v5\nv_mov_b32 v0, v1", "haz.dst_forward"),
    ("gfx1100", "v_exp_f32 v0, v1\nv_add_f32 v2, v0, v0", "haz.gfx11.trans_use"),
    ("gfx1200", "v_mov_b32 v0, s4\ns_mov_b32 s5, 0\nv_mov_b32 v1, s5", "haz.gfx12.valu_read_sgpr"),
    ("gfx1250", "v_exp_f32 v0, v1\ns_nop 1\nv_add_f32 v2, v0, v0", "haz.gfx1250.trans_raw"),
]  # fmt: skip


@pytest.mark.parametrize(("gpu", "text", "rule"), _TOO_NEAR, ids=[f"{one[0]}-{one[2]}" for one in _TOO_NEAR])
def test_a_producer_that_is_too_near_is_reported(gpu: str, text: str, rule: str) -> None:
    assert rules(gpu, text) == {rule}


_QUIET = [
    ("gfx900", "v_mov_b32 v0, 1\ns_nop 1\nv_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("gfx906", "s_mov_b32 s4, s8\nglobal_load_dword v1, v2, s[4:5]"),
    ("gfx90a", "v_cmp_gt_u32 vcc, v0, v1\nv_cndmask_b32 v2, v3, v4, vcc"),
    ("gfx942", "v_exp_f32 v0, v1\nv_exp_f32 v2, v0"),
    ("gfx942", "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]\nv_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"),  # noqa: E501
    ("gfx942", "v_pk_add_f32 v[0:1], v[2:3], v[4:5]\nv_pk_add_f32 v[0:1], v[0:1], v[4:5]"),
    ("gfx1030", "global_load_dword v0, v[2:3], off\ns_mov_b64 exec, -1"),
    ("gfx1010", "global_load_dword v0, v[2:3], off\nv_mov_b32 v9, 0\ns_mov_b64 exec, -1"),
    ("gfx1010", "global_atomic_add v0, v[2:3], v4, off glc\ns_waitcnt vmcnt(0)\ns_mov_b64 exec, -1"),
    ("gfx906", "v_readlane_b32 vcc_lo, v0, 8\nv_readlane_b32 vcc_hi, v0, 9\ns_mov_b64 vcc, vcc\ns_cbranch_vccz .L\n.L:"),  # noqa: E501
    ("gfx950", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v4, v5, a[0:3]\ns_nop 1\nv_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]"),  # noqa: E501
    ("gfx950", "v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v4, v5\ns_nop 0\nv_mov_b32 v0, v1"),
    ("gfx950", "v_cvt_scalef32_sr_fp8_f32 v0, v2, v3, v4\nv_mov_b32 v1, v0"),
    ("gfx1151", "v_exp_f32 v0, v1\nv_add_f32 v2, v0, v0"),
    ("gfx1100", "v_exp_f32 v0, v1\ns_waitcnt_depctr 0xfff\nv_add_f32 v2, v0, v0"),
    ("gfx1200", "v_mov_b32 v0, s4\ns_mov_b32 s5, 0\ns_wait_alu depctr_sa_sdst(0)\nv_mov_b32 v1, s5"),
    ("gfx1250", "v_mov_b32 v0, s4\ns_mov_b32 s5, 0\nv_mov_b32 v1, s5"),
]  # fmt: skip


@pytest.mark.parametrize(("gpu", "text"), _QUIET)
def test_enough_distance_or_no_hazard_is_quiet(gpu: str, text: str) -> None:
    assert found(gpu, text) == []


def test_the_shortest_path_decides_at_a_join() -> None:
    text = """
    v_readfirstlane_b32 s4, v0
    s_cbranch_scc0 .Lshort
    s_nop 7
    .Lshort:
    global_load_dword v1, v2, s[4:5]
    s_endpgm"""
    (violation,) = found("gfx90a", text)
    assert (violation.found, violation.needed) == (1, 5)
    assert list(violation.blocks) == [0, 2]


@pytest.mark.parametrize(
    ("second", "broken"),
    [
        ("global_load_dword v2, v[6:7], off", True),
        ("global_atomic_add v2, v[6:7], v5, off glc", True),
        ("buffer_atomic_add v2, v5, s[0:3], 0 offen glc", True),
        ("global_atomic_add v[6:7], v2, off", False),
        ("global_store_dword v[6:7], v2, off", False),
        ("global_load_dword v8, v[6:7], off", False),
    ],
)
def test_members_of_a_clause_keep_its_addresses(second: str, broken: bool) -> None:
    text = f"global_load_dword v4, v[2:3], off\n{second}"
    assert rules("gfx906:xnack+", text) == ({"haz.xnack.clause"} if broken else set())
    assert rules("gfx906:xnack-", text) == set()


def test_a_producer_at_the_end_of_a_loop_reaches_its_start() -> None:
    text = """
    .Lloop:
    v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf
    v_add_f32 v0, v0, v2
    s_cbranch_scc0 .Lloop
    s_endpgm"""
    (violation,) = found("gfx906", text)
    assert (violation.found, violation.consumer.index, violation.producer and violation.producer.index) == (1, 0, 1)


def test_s_nop_counts_only_the_bits_that_the_hardware_reads() -> None:
    assert rules("gfx900", "v_readfirstlane_b32 s4, v0\ns_nop 16\nglobal_load_dword v1, v2, s[4:5]") == {
        "haz.sgpr.vmem"
    }
    assert not rules("gfx900", "v_readfirstlane_b32 s4, v0\ns_nop 15\nglobal_load_dword v1, v2, s[4:5]")


def test_wave_size_decides_about_wave64_hazards() -> None:
    text = "v_cndmask_b32_e64 v0, v1, v2, {m}\ns_mov_b{w} {m}, 0\ns_nop 0\nv_cndmask_b32_e64 v3, v1, v2, {m}"
    assert rules("gfx1100", text.format(m="s[4:5]", w=64), wave=64) == {"haz.gfx11.mask_write"}
    assert not rules("gfx1100", text.format(m="s4", w=32), wave=32)


def test_partial_forwarding_needs_results_from_both_sides_of_the_exec_write() -> None:
    text = "v_mov_b32 v0, 0\ns_mov_b64 exec, -1\nv_mov_b32 v1, 0\n{}v_add_f32 v2, v0, v1"
    assert rules("gfx1100", text.format(""), wave=64) == {"haz.gfx11.partial_forwarding"}
    assert not rules("gfx1100", text.format("s_waitcnt_depctr 0xfff\n"), wave=64)
    assert not rules("gfx1100", text.format("v_mov_b32 v9, 0\n" * 5), wave=64)
    assert not rules("gfx1100", text.format(""), wave=32)


def test_other_opcode_on_the_same_tuple_is_a_warning_only() -> None:
    text = "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]\nv_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[8:9], v[0:3]"  # noqa: E501
    (violation,) = found("gfx950", text)
    assert (violation.edge.severity, violation.found, violation.needed) == ("warning", 0, 6)


def test_scheduling_mode_rules_hold_only_while_the_mode_is_on() -> None:
    body = "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[6:7]\n"
    mode = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), {}\n"
    assert rules("gfx1250", mode.format(2) + body) == {"haz.expert.va_vdst"}
    assert not rules("gfx1250", body)
    assert not rules("gfx1250", mode.format(2) + mode.format(0) + body)


def test_a_wait_with_a_count_clears_older_results_only() -> None:
    mode = "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2\n"
    body = "v_mov_b32 v1, 0\nv_mov_b32 v9, 0\nv_mov_b32 v8, 0\ns_wait_alu depctr_va_vdst({})\nglobal_load_b32 v2, v1, s[6:7]"  # noqa: E501
    assert not rules("gfx1250", mode + body.format(2))
    assert rules("gfx1250", mode + body.format(3)) == {"haz.expert.va_vdst"}


def test_the_old_destination_of_dpp_is_reported_as_advice_only() -> None:
    move = "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf"
    (violation,) = found("gfx90a", f"v_mov_b32 v1, 0\n{move}")
    assert (violation.edge_id, violation.edge.severity) == ("haz.dpp.vgpr_write/old", "info")
    assert violation.edge.conflict
    multiply = "v_fmac_f32_dpp v1, v0, v2 row_shr:1 row_mask:0xf bank_mask:0xf"
    (violation,) = found("gfx90a", f"v_mov_b32 v1, 0\n{multiply}")
    assert (violation.edge_id, violation.edge.severity) == ("haz.dpp.vgpr_write", "error")


def test_reads_of_agprs_in_a_row_are_one_hazard_before_a_store() -> None:
    text = "v_accvgpr_read_b32 v0, a0\nv_accvgpr_read_b32 v1, a1\n{}global_store_dwordx2 v[2:3], v[0:1], off"
    assert [one.edge_id for one in found("gfx908", text.format(""))] == ["haz.accvgpr_read.memory"]
    assert not found("gfx908", text.format("s_nop 1\n"))
    other = "v_mov_b32 v0, 0\nv_accvgpr_read_b32 v9, a1\nglobal_store_dword v[2:3], v0, off"
    assert rules("gfx908", other) == {"haz.accvgpr_between.memory"}
