"""What an instruction text reads and writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op, Role
from asmevo_gate.isa.registers import set_name
from asmevo_gate.isa.targets import find_target


def decoded(target: str, text: str, wave_size: int | None = None) -> Decoded:
    gpu = find_target(target)
    result = isa_for(gpu, wave_size or gpu.wave_sizes[0]).decode(text)
    assert isinstance(result, Decoded), result
    return result


def refused(target: str, text: str) -> NotDecoded:
    gpu = find_target(target)
    result = isa_for(gpu, gpu.wave_sizes[0]).decode(text)
    assert isinstance(result, NotDecoded), result
    return result


@pytest.mark.parametrize(
    ("target", "text", "reads", "writes"),
    [
        ("gfx942", "v_add_f32 v0, v1, v2", "v[1:2], exec, mode", "v0"),
        ("gfx1030", "v_add_f32 v0, s1, -|v2|", "v2, s1, exec_lo, mode", "v0"),
        ("gfx942", "global_load_dwordx4 v[4:7], v[0:1], off offset:16", "v[0:1], exec", "v[4:7]"),
        ("gfx90a", "global_store_dwordx2 v[0:1], v[4:5], off", "v[0:1], v[4:5], exec", "none"),
        (
            "gfx942",
            "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
            "v[0:3], a[0:15], exec, mode",
            "a[0:15]",
        ),
        ("gfx1100", "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo", "v[1:2], vcc_lo, exec_lo", "v0, vcc_lo"),
        ("gfx942", "s_cbranch_scc0 .LBB0_1", "scc", "none"),
        ("gfx90a", "ds_read_b64 v[0:1], v2 offset:8", "v2, exec", "v[0:1]"),
    ],
)
def test_reads_and_writes(target: str, text: str, reads: str, writes: str) -> None:
    instruction = decoded(target, text)
    assert set_name(instruction.reads) == reads
    assert set_name(instruction.writes) == writes


def test_a_preserving_sdwa_write_keeps_and_reads_its_destination() -> None:
    instruction = decoded(
        "gfx906", "v_cvt_f32_f16_sdwa v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1"
    )
    assert set_name(instruction.keeps) == "v1"
    assert set_name(instruction.reads & ~instruction.implicit_reads) == "v[1:2]"
    assert instruction.operands[0].role == Role.WRITE | Role.KEEP


def test_an_instruction_of_other_targets_says_which_have_it() -> None:
    answer = refused("gfx942", "v_mac_f32 v0, v1, v2")
    assert answer.kind == "not_on_target"
    assert "gfx90a" in answer.available_on
    assert "gfx942" not in answer.available_on


def test_an_unknown_mnemonic_is_told_from_a_missing_form() -> None:
    assert refused("gfx942", "v_frobnicate_f32 v0, v1").kind == "unknown_mnemonic"
    assert refused("gfx942", "v_add_f32 v0").kind == "no_form"


def test_a_symbolic_register_index_is_reported_as_such() -> None:
    assert refused("gfx942", "v_mov_b32 v[base+1], v0").kind == "symbolic"


def test_a_text_is_decoded_once() -> None:
    isa = isa_for(find_target("gfx942"), 64)
    assert isa.decode("v_mov_b32 v1, v2") is isa.decode("v_mov_b32 v1, v2")


def test_both_halves_of_a_dual_issue_instruction_are_there() -> None:
    instruction = decoded("gfx1100", "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5")
    assert instruction.of(Op.VOPD)
    assert [half.mnemonic for half in instruction.halves] == ["v_dual_add_f32", "v_dual_mul_f32"]
    assert set_name(instruction.writes) == "v0, v3"


@pytest.mark.parametrize(
    ("target", "text", "available"),
    [
        ("gfx1100", "v_cvt_f32_f16_sdwa v1, v2 dst_sel:DWORD src0_sel:WORD_1", "gfx1030"),
        ("gfx1030", "v_add_f32_e64_dpp v0, v1, v2 row_shr:1", "gfx1100"),
        ("gfx1030", "v_cmp_gt_u32_dpp vcc_lo, v1, v2 row_shr:1", "gfx1100"),
        ("gfx1200", "v_ashrrev_i16_dpp v8, v12, v16 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", "gfx90a"),
    ],
)
def test_a_variant_that_only_other_targets_have_is_not_on_the_target(target: str, text: str, available: str) -> None:
    answer = refused(target, text)
    assert (answer.kind, available in answer.available_on) == ("not_on_target", True)


@pytest.mark.parametrize(
    ("target", "text", "available"),
    [
        ("gfx1030", "v_add_f32_dpp v0, v1, v2 row_bcast:15 row_mask:0xf bank_mask:0xf", "gfx906"),
        ("gfx906", "v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", "gfx1030"),
        ("gfx906", "v_mov_b32_dpp v0, v1 row_share:1", "gfx1030"),
        ("gfx90a", "global_load_dword v0, v[2:3], off sc0", "gfx942"),
        ("gfx942", "global_load_dword v0, v[2:3], off glc", "gfx90a"),
        ("gfx1030", "v_mov_b32_dpp v0, v1 wave_shl:1", "gfx906"),
    ],
)
def test_a_form_of_other_targets_is_refused_and_says_where_it_exists(target: str, text: str, available: str) -> None:
    answer = refused(target, text)
    assert answer.kind == "no_form"
    assert available in answer.available_on
    assert target not in answer.available_on


def test_an_instruction_of_other_targets_is_refused_whatever_its_operands() -> None:
    answer = refused("gfx942", "buffer_gl0_inv")
    assert answer.kind == "not_on_target"
    assert "gfx1030" in answer.available_on


@pytest.mark.parametrize(
    ("target", "text", "kept"),
    [
        ("gfx942", "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "v1"),
        ("gfx942", "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "none"),
        ("gfx942", "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xa bank_mask:0xf bound_ctrl:0", "v1"),
        ("gfx1030", "v_add_f32_dpp v1, v2, v3 quad_perm:[0,1,2,3] bound_ctrl:1", "none"),
        ("gfx942", "v_writelane_b32 v1, s2, 3", "v1"),
        ("gfx942", "global_load_short_d16_hi v1, v[2:3], off", "v1"),
        ("gfx906", "ds_read_u16_d16 v1, v2", "v1"),
        ("gfx906", "v_mul_f32_sdwa v1, v2, v3 dst_sel:WORD_1 src0_sel:BYTE_2 src1_sel:DWORD", "v1"),
        (
            "gfx906",
            "v_mul_f32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:DWORD",
            "none",
        ),
        ("gfx906", "v_mad_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v1"),
        ("gfx906", "v_mad_f16 v1, v2, v3, v4 op_sel:[1,0,0,0]", "none"),
        ("gfx906", "v_add_f16 v1, v2, v3", "none"),
        ("gfx1030", "v_add_f16 v1, v2, v3", "v1"),
        ("gfx1100", "v_add_f16 v1.h, v2.l, v3.l", "v1"),
        ("gfx906", "v_pk_add_f16 v1, v2, v3", "none"),
        ("gfx942", "v_cndmask_b32 v1, v2, v3, vcc", "none"),
        ("gfx942", "v_add_f32 v1, v2, v3", "none"),
    ],
)
def test_partial_writes_keep_the_rest(target: str, text: str, kept: str) -> None:
    instruction = decoded(target, text)
    assert set_name(instruction.keeps) == kept
    assert instruction.keeps & ~instruction.reads == 0


def test_indirect_registers_are_marked() -> None:
    assert decoded("gfx1030", "v_movreld_b32 v1, v2").operands[0].indexed
    assert decoded("gfx1030", "v_movrels_b32 v1, v2").operands[1].indexed
    assert decoded("gfx900", "s_movrels_b32 s1, s2").operands[1].indexed
    assert not decoded("gfx900", "v_mov_b32 v1, v2").operands[0].indexed


def test_lane_masks_are_as_wide_as_the_wave() -> None:
    wave32 = decoded("gfx1030", "v_cndmask_b32_e32 v0, v1, v2, vcc_lo")
    wave64 = decoded("gfx1030", "v_cndmask_b32_e32 v0, v1, v2, vcc", 64)
    assert set_name(wave32.reads) == "v[1:2], vcc_lo, exec_lo"
    assert set_name(wave64.reads) == "v[1:2], vcc, exec"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx942", "v_add_f32 s0, v1, v2"),
        ("gfx942", "v_add_f64 v0, v[2:3], v[4:5]"),
        ("gfx1030", "v_add_f32 v1.h, v2, v3"),
        ("gfx942", "v_add_u32 v1, -v2, v3"),
        ("gfx942", "v_mov_b32 v[4:2], v0"),
        ("gfx942", "v_add_f32 v0, v1, v2 offen"),
        ("gfx942", "v_add_f32 V0, v1, v2"),
        ("gfx942", "s_mov_b64 s[0:1], vcc_lo"),
        ("gfx942", "v_cmp_eq_f32_e32 vcc_lo, v1, v2"),
        ("gfx942", "s_mov_b32 s0, 08"),
        ("gfx1030", "image_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf"),
        ("gfx1200", "image_sample_b v0, v[2:3], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_1D"),
        ("gfx1100", "v_add_f16_dpp v1, v200, v3 quad_perm:[0,1,2,3]"),
        ("gfx1100", "v_wmma_f32_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[0:3]"),
        ("gfx1200", "v_swmmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10"),
    ],
)
def test_operands_that_do_not_fit_are_refused(target: str, text: str) -> None:
    assert refused(target, text).kind == "no_form"


@pytest.mark.parametrize(
    ("target", "text", "reads", "writes"),
    [
        ("gfx942", "s_mov_b64 [s0,s1], vcc", "vcc", "s[0:1]"),
        ("gfx942", "v_mfma_f32_4x4x1f32 acc[0:3], v1, a16, acc[0:3]", "v1, a[0:3], a16, exec, mode", "a[0:3]"),
        ("gfx942", "v_mov_b32 v[2*3+1], v[ 4 - 1 ]", "v3, exec", "v7"),
        ("gfx942", "v_add_f32 v1, neg(v2), |v3|", "v[2:3], exec, mode", "v1"),
        ("gfx942", "flat_load_dword v1, v[2:3]", "v[2:3], exec, flat_scratch", "v1"),
        ("gfx942", "s_add_u32 s0, s0, label@rel32@lo+4", "s0", "s0, scc"),
        ("gfx1030", "image_sample v[0:3], [v4, v6], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D",
         "v4, v6, s[8:19], exec_lo", "v[0:3]"),
        ("gfx1030", "image_load v[0:4], v[6:7], s[8:15] dmask:0xf dim:2D tfe", "v[6:7], s[8:15], exec_lo", "v[0:4]"),
        ("gfx90a", "buffer_load_dword off, s[4:7], s8 lds", "s[4:8], exec, m0", "none"),
        ("gfx90a", "global_atomic_add v1, v[2:3], v4, off glc", "v[2:4], exec", "v1"),
        ("gfx1200", "global_atomic_add_u32 v1, v[2:3], v4, off th:TH_ATOMIC_RETURN", "v[2:4], exec_lo", "v1"),
        ("gfx1200", "global_load_dwordx2 v[0:1], v[2:3], off scope:SCOPE_SYS", "v[2:3], exec_lo", "v[0:1]"),
        ("gfx906", "v_readlane_b32 s1, v2, s3", "v2, s3", "s1"),
        ("gfx942", "V_ADD_F32_E32 v0, v1, v2", "v[1:2], exec, mode", "v0"),
        ("gfx942", "v_cmp_eq_f32 v1, v2", "v[1:2], exec, mode", "vcc"),
        ("gfx1030", "v_cndmask_b32_dpp v1, v2, v3 quad_perm:[0,1,2,3] bound_ctrl:0", "v[2:3], vcc_lo, exec_lo", "v1"),
        ("gfx1030", "image_atomic_add v[4:5], v6, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D tfe",
         "v[4:6], s[8:15], exec_lo", "v[4:5]"),
        ("gfx1100", "image_msaa_load v[1:4], v[5:7], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA",
         "v[5:7], s[8:15], exec_lo", "v[1:4]"),
        ("gfx1100", "exp mrt0 v1, v2, v3, v4 done row_en", "v[1:4], exec_lo, m0", "none"),
        ("gfx1100", "v_add_f16 v1, v200, v3 quad_perm:[0,1,2,3] bound_ctrl:0", "v1, v3, v200, exec_lo, mode", "v1"),
        ("gfx1250", "v_dual_add_f64 v[0:1], v[2:3], v[4:5] :: v_dual_mov_b32 v7, v9", "v[2:5], v9, exec_lo, mode",
         "v[0:1], v7"),
        ("gfx908", "v_accvgpr_read_b32 v46, a16", "a16, exec", "v46"),
    ],
)  # fmt: skip
def test_every_spelling_of_operands(target: str, text: str, reads: str, writes: str) -> None:
    instruction = decoded(target, text)
    assert set_name(instruction.reads) == reads
    assert set_name(instruction.writes) == writes


@pytest.mark.parametrize(
    ("target", "text", "classes"),
    [
        ("gfx942", "v_exp_f32 v0, v1", Op.TRANS | Op.VALU),
        ("gfx942", "v_mfma_f32_4x4x1f32 a[0:3], v1, v2, a[0:3]", Op.MFMA | Op.VALU),
        ("gfx1100", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", Op.WMMA | Op.VALU),
        ("gfx942", "global_load_lds_dword v[2:3], off", Op.GLOBAL | Op.LDS_DMA | Op.VM_CNT),
        ("gfx942", "s_swappc_b64 s[0:1], s[2:3]", Op.SALU | Op.CALL | Op.INDIRECT | Op.BRANCH),
        ("gfx942", "s_endpgm", Op.TERMINATOR),
        ("gfx1030", "image_bvh_intersect_ray v[4:7], v[9:19], s[4:7]", Op.IMAGE | Op.BVH),
        ("gfx900", "ds_add_rtn_u32 v1, v2, v3 gds", Op.DS | Op.GDS | Op.ATOMIC),
        ("gfx942", "v_accvgpr_write_b32 a0, v1", Op.ACCVGPR),
        ("gfx906", "v_dot4_i32_i8 v1, v2, v3, v4", Op.DOT | Op.VOP3P),
        ("gfx1030", "v_add_f32_dpp v1, v2, v3 row_shl:1", Op.DPP),
        ("gfx1200", "s_wait_loadcnt 0x0", Op.WAIT),
        ("gfx1250", "s_set_pc_i64 s[0:1]", Op.BRANCH | Op.INDIRECT | Op.TERMINATOR),
        ("gfx1250", "s_add_pc_i64 s[0:1]", Op.BRANCH | Op.INDIRECT | Op.TERMINATOR),
        ("gfx1250", "s_swap_pc_i64 s[0:1], s[2:3]", Op.BRANCH | Op.INDIRECT | Op.CALL),
        ("gfx1250", "s_call_i64 s[0:1], label", Op.BRANCH | Op.CALL),
    ],
)
def test_class_bits(target: str, text: str, classes: int) -> None:
    assert decoded(target, text).classes & classes == classes


def test_calls_and_indexed_operands_are_fields() -> None:
    assert decoded("gfx942", "s_swappc_b64 s[0:1], s[2:3]").is_call
    assert not decoded("gfx942", "s_setpc_b64 s[0:1]").is_call
    assert decoded("gfx1030", "v_movreld_b32 v1, v2").has_indexed
    assert not decoded("gfx1030", "v_mov_b32 v1, v2").has_indexed


def test_matrix_operands_are_as_wide_as_the_wave_says() -> None:
    text = "v_wmma_f32_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[0:3]"
    assert set_name(decoded("gfx1100", text, 64).writes) == "v[0:3]"


def test_the_encoding_of_a_bare_mnemonic_is_its_shortest() -> None:
    assert not decoded("gfx942", "v_add_f32 v0, v1, v2").of(Op.VOP3)
    assert decoded("gfx942", "v_add_f32 v0, v1, v2").size == 4
    assert decoded("gfx942", "v_add_f32_e64 v0, v1, v2").of(Op.VOP3)
    assert decoded("gfx942", "v_fma_f32 v0, v1, v2, v3").of(Op.VOP3)


def test_forms_and_mnemonics_are_there_for_explanations() -> None:
    isa = isa_for(find_target("gfx942"), 64)
    assert "v_fmac_f32" in isa.mnemonics()
    assert "v_mac_f32" not in isa.mnemonics()
    assert any(form.startswith("dpp: 3 operands") for form in isa.forms("v_add_f32"))
    assert isa.classes("v_exp_f32") & Op.TRANS


@given(st.text(alphabet="vsa0123456789[]:,.|-+()_&@% x'\"", max_size=60))
def test_any_text_gives_an_answer(rest: str) -> None:
    isa = isa_for(find_target("gfx1100"), 32)
    for mnemonic in ("v_add_f32", "s_waitcnt", "exp", "v_dual_mov_b32"):
        assert isinstance(isa.decode(f"{mnemonic} {rest}"), Decoded | NotDecoded)


def test_a_giant_register_range_is_refused_at_once() -> None:
    assert refused("gfx942", "v_mov_b32 v[0x1:0xF00000002], v0").kind == "no_form"
    assert refused("gfx942", "v_mov_b32 v[" + "(" * 5000 + "1" + ")" * 5000 + "], v0").kind in ("no_form", "symbolic")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx950", "v_permlane16_swap_b32_e64 v0, v1 bound_ctrl:1"),
        ("gfx950", "v_permlane32_swap_b32 v0, v1 bound_ctrl:1 fi:1"),
        ("gfx1250", "v_permlane16_swap_b32 v0, v1 fi:1"),
        ("gfx1100", "image_msaa_load v[0:3], v[4:5], s[0:7] dmask:0x4 dim:SQ_RSRC_IMG_2D_MSAA_ARRAY unorm a16"),
    ],
)
def test_lane_modifiers_and_packed_coordinates(target: str, text: str) -> None:
    assert decoded(target, text).writes


@pytest.mark.parametrize("text", ["v_permlane16_swap_b32_e32 v0, v1 fi:1", "v_add_f32_e64 v0, v1, v2 bound_ctrl:1"])
def test_lane_modifiers_are_refused_where_llvm_refuses_them(text: str) -> None:
    assert "takes no modifier" in refused("gfx950", text).reason


@pytest.mark.parametrize(
    ("target", "text", "words"),
    [
        ("gfx1100", "v_fmaak_f16 v1.l, v200.l, v2.l, 0x0", "v0 to v127"),
        ("gfx1200", "v_cmp_ge_u16 v210, v2", "v0 to v127"),
        ("gfx1200", "v_cmp_u_f16 vcc_lo, v200.l, v2.l", "v0 to v127"),
        ("gfx1100", "v_swap_b16 v1.l, v200.l", "v0 to v127"),
        ("gfx1151", "v_add_f16_dpp v1, v200, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", "v0 to v127"),
        ("gfx942", "v_add_co_u32 v0, s[0:1], v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", "VCC"),
        ("gfx1100", "s_waitcnt_vmcnt s8, 0x0", "no register"),
        ("gfx1010", "image_sample v0, [v1, v2, v[4:5]], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D", "list"),
        ("gfx1030", "image_msaa_load v[8:11], v[12:14], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA", "dmask"),
        ("gfx1100", "image_gather4 v[8:11], v[12:13], s[8:15], s[16:19] dmask:0x3 dim:SQ_RSRC_IMG_2D", "one channel"),
        ("gfx942", "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[2:33]", "overlaps"),
        ("gfx942", "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3] cbsz:8", "0 to 7"),
        ("gfx942", "v_pk_add_f16 v0, v1, v2 op_sel:[-1,0]", "bits"),
        ("gfx942", "v_pk_add_f16 v0, v1, v2 op_sel:[0,0,0,0,0]", "at most 4"),
        ("gfx942", "v_add_f32 v0, v1, v2 mul:3", "one of 1, 2, 4"),
        ("gfx906", "v_cvt_f32_f16_sdwa v1, v2 src0_sel:WORD_2", "one of"),
        ("gfx942", "v_mov_b32_dpp v0, v1 row_mask:0xf", "one DPP control"),
        ("gfx1100", "v_mov_b32_dpp v0, v1 dpp8:[0,1,2,3,4,5,6,7] row_mask:0xf", "dpp8 does not go"),
        ("gfx942", "v_add_f32_e64 v0, v1, v2 src0_sel:WORD_1", "src0_sel"),
    ],
)
def test_what_no_encoding_holds_is_refused_in_words(target: str, text: str, words: str) -> None:
    answer = refused(target, text)
    assert (answer.kind, words in answer.reason) == ("no_form", True), answer.reason


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("gfx1200", "v_cmp_ge_u16 vcc_lo, v210, v2"),
        ("gfx1100", "v_fmaak_f16 v1.l, v100.l, v2.l, 0x0"),
        ("gfx1200", "v_add_f16 v1, v200, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"),
        ("gfx942", "v_add_co_u32 v0, vcc, v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"),
        ("gfx942", "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]"),
        ("gfx942", "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[2:5]"),
        ("gfx1100", "image_gather4 v[8:11], v[12:13], s[8:15], s[16:19] dmask:0x2 dim:SQ_RSRC_IMG_2D"),
        ("gfx1030", "image_load v[0:4], v[5:6], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D tfe"),
        ("gfx1100", "v_mov_b32_dpp v0, v1 dpp8:[0,1,2,3,4,5,6,7] fi:1"),
    ],
)
def test_the_neighbour_that_is_encodable_is_decoded(target: str, text: str) -> None:
    decoded(target, text)


def test_what_no_other_encoding_holds_is_taken_as_sdwa() -> None:
    instruction = decoded("gfx1030", "v_cndmask_b32 v1, 0, s2")
    assert instruction.variant == "sdwa"
    assert set_name(instruction.reads) == "s2, vcc_lo, exec_lo"
    assert refused("gfx1100", "v_cndmask_b32 v1, 0, s2").kind == "no_form"


def test_elements_of_an_address_list_have_their_own_roles() -> None:
    text = "image_bvh8_intersect_ray v[8:17], [v[28:29], v[30:31], v[20:22], v[24:26], v36], s[8:11]"
    instruction = decoded("gfx1200", text)
    assert set_name(instruction.writes) == "v[8:17], v[20:22], v[24:26]"
    assert set_name(instruction.reads) == "v[20:22], v[24:26], v[28:31], v36, s[8:11], exec_lo"


def test_dual_issue_exists_in_wave32_only() -> None:
    text = "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5"
    assert isinstance(isa_for(find_target("gfx1100"), 64).decode(text), NotDecoded)
