"""Instruction texts for tests that are made from the constraint data: the matcher tells which of them are in a node.

No edge is named here: an edge for which no texts are found is an error of the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.matching import Traits, matcher_for
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import NotDecoded
from asmevo_gate.isa.targets import find_target

_SCALAR = """
s_mov_b32 m0, s4|s_mov_b32 s4, 0|s_mov_b32 vcc_lo, 0|s_mov_b64 exec, -1|s_mov_b32 exec_lo, -1|s_mov_b32 s102, 0
s_sendmsg sendmsg(MSG_INTERRUPT)|s_ttracedata|s_movrels_b32 s9, s10|s_cbranch_vccz .Lend|s_denorm_mode 0
s_setreg_b32 hwreg(HW_REG_MODE), s4|s_setreg_b32 hwreg(HW_REG_TRAPSTS), s4|s_getreg_b32 s5, hwreg(HW_REG_MODE)
s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 1), 1|s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 2, 2), 1
s_rfe_b64 s[4:5]|s_setvskip s4, 0|s_load_dword s9, s[4:5], 0x0|s_load_b32 s9, s[4:5], 0x0|s_set_vgpr_msb 1
s_mov_b64 s[10:11], src_flat_scratch_base|s_mov_b64 s[10:11], src_flat_scratch_base_lo
s_and_saveexec_b64 s[4:5], vcc|s_and_saveexec_b32 s4, vcc_lo|s_or_saveexec_b32 s4, vcc_lo|s_mov_b32 s9, exec_lo
"""
_VALU = """
v_mov_b32 v0, v9|v_mov_b32 v9, v0|v_readfirstlane_b32 s4, v0|v_readlane_b32 s9, v0, s4
v_writelane_b32 v0, s9, s4|v_mov_b32 v9, s4|v_cmp_gt_u32 vcc, v8, v9|v_cmp_gt_u32 vcc_lo, v8, v9
v_cmp_gt_u32 s[4:5], v8, v9|v_cmp_gt_u32 s4, v8, v9|v_cmpx_gt_u32 vcc, v8, v9|v_cmpx_gt_u32 v8, v9
v_mov_b32_dpp v9, v0 row_shr:1 row_mask:0xf bank_mask:0xf|v_div_fmas_f32 v9, v10, v11, v12|v_mov_b32 v9, exec_lo
v_mov_b32 v9, src_vccz|v_cndmask_b32 v9, v10, v11, s[4:5]|v_cndmask_b32 v9, v10, v11, vcc|v_exp_f32 v0, v9
v_exp_f32 v9, v0|v_mov_b32_sdwa v0, v9 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0
v_add_f16_e64 v0, v9, v9 op_sel:[0,0,1]|v_permlane16_swap_b32 v0, v9|v_permlane16_b32 v9, v0, s4, s9
v_interp_mov_f32 v9, p10, attr0.x|v_fma_f64 v[8:9], v[8:9], v[8:9], v[8:9]|v_dot2_f32_f16 v0, v8, v9, v10
v_dot2_f32_f16 v8, v0, v9, v10|v_dot4_i32_i8 v8, v0, v9, v10|v_dot4_i32_i8 v0, v8, v9, v10
v_mov_b32 v9, src_execz|v_accvgpr_write_b32 a0, v0|v_accvgpr_write_b32 a0, v9|v_accvgpr_read_b32 v9, a0
v_accvgpr_read_b32 v0, a9
"""
_MEMORY = """
global_load_dword v9, v[10:11], off|global_load_dword v9, v10, s[4:5]|global_load_dword v0, v[10:11], off
global_store_dword v[10:11], v0, off|global_store_dwordx4 v[10:11], v[0:3], off
buffer_load_dword v9, v10, s[4:7], 0 offen|buffer_store_dwordx4 v[0:3], off, s[12:15], s16
buffer_load_dword v10, s[12:15], 0 offen lds|ds_write_b32 v9, v0|ds_write_b32 v10, v9|ds_read_b32 v0, v9
ds_add_u32 v9, v10 gds|ds_gws_init v9 gds|global_atomic_fmin v9, v10, s[8:9]|global_load_b32 v0, v9, s[4:5]
global_store_b32 v0, v9, s[4:5]|global_load_lds_dword v[10:11], off
image_sample v[16:19], [v20, v21, v22, v23, v24, v25], s[16:23], s[24:27] dmask:0xf dim:SQ_RSRC_IMG_3D
buffer_load_dword v9, v10, s[12:15], 0 offen offset:6|lds_direct_load v0 wait_vdst:15
ds_direct_load v0 wait_va_vdst:15 wait_vm_vsrc:1
image_sample_d v[16:19], [v20, v21, v22, v23, v24, v25], s[16:23], s[24:27] dmask:15 dim:SQ_RSRC_IMG_2D
"""
_PAIRED = """
v_mov_b32 v1, v9|v_add_f32 v9, v0, v1|v_dual_mov_b32 v8, v0 :: v_dual_mov_b32 v9, v2
v_dual_add_f32 v8, v0, v5 :: v_dual_add_f32 v9, v2, v6|v_dual_add_f32 v8, v0, v5 :: v_dual_add_f32 v9, v1, v6
global_load_dword v10, v[10:11], off|global_load_dwordx2 v[10:11], v[10:11], off|s_load_dwordx2 s[4:5], s[4:5], 0x0
s_load_b64 s[4:5], s[4:5], 0x0|s_load_b64 s[10:11], s[4:5], 0x0|s_load_dwordx2 s[10:11], s[4:5], 0x0
s_load_b64 s[12:13], s[6:7], 0x0|s_load_dwordx2 s[12:13], s[6:7], 0x0
v_lshlrev_b64 v[8:9], v7, v[10:11]|v_lshlrev_b64 v[8:9], v6, v[10:11]|s_branch 0x3f|s_branch 0x3e
flat_load_dword v8, v[10:11] offset:4|flat_load_dword v8, v[10:11]
v_mad_u64_u32 v[8:9], s[4:5], v8, v10, v[12:13]|v_mad_u64_u32 v[8:9], s[4:5], v7, v10, v[12:13]
v_mad_u64_u32 v[8:9], s4, v8, v10, v[12:13]|v_mad_u64_u32 v[8:9], s4, v7, v10, v[12:13]
s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)|s_getreg_b32 s5, hwreg(HW_REG_STATE_PRIV)
s_getreg_b32 s5, hwreg(HW_REG_WAVE_STATUS)|s_getreg_b32 s5, hwreg(HW_REG_STATUS)
ds_atomic_async_barrier_arrive_b64 v9|s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 0|v_cmp_gt_u32 vcc, v8, s4|v_cndmask_b32 v9, v10, v11, s4
v_cndmask_b32 v9, v10, v11, vcc_lo|v_mov_b32 v9, vcc_lo|s_mov_b32 s9, vcc_lo|s_mov_b32 s9, s4
v_readfirstlane_b32 vcc_lo, v9|v_mov_b32 v8, vcc_lo|s_cbranch_scc0 .Lend
"""
"""Instructions that differ in what makes them a hazard, for edges about one instruction or about more than two."""
_WAITS = """
s_waitcnt_depctr depctr_va_vdst(0)|s_waitcnt_depctr depctr_va_sdst(0)|s_waitcnt_depctr depctr_va_vcc(0)
s_waitcnt_depctr depctr_sa_sdst(0)|s_waitcnt_depctr depctr_vm_vsrc(0)|s_waitcnt_depctr 0
s_wait_alu depctr_va_vdst(0)|s_wait_alu depctr_va_sdst(0)|s_wait_alu depctr_va_vcc(0)|s_wait_alu depctr_sa_sdst(0)
s_wait_alu depctr_vm_vsrc(0)|s_wait_alu 0|s_waitcnt vmcnt(0)|s_waitcnt lgkmcnt(0)|s_waitcnt 0
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)|s_waitcnt_vscnt null, 0x0|s_wait_loadcnt 0x0|s_wait_storecnt 0x0
s_wait_dscnt 0x0|s_wait_idle|s_mov_b32 null, 0|s_nop 0|v_mov_b32 v250, 0|v_nop|s_mov_b64 vcc, -1
v_readfirstlane_b32 s98, v251|exp mrt0 v250, v250, v250, v250|v_exp_f32 v250, v251|s_load_dword s98, s[96:97], 0x0
s_load_b32 s98, s[96:97], 0x0|ds_read_b32 v250, v251|ds_load_b32 v250, v251|global_load_dword v250, v[252:253], off
global_load_b32 v250, v[252:253], off|s_mov_b32 s98, 0|s_wait_alu depctr_va_sdst(0) depctr_sa_sdst(0)
s_waitcnt_vmcnt null, 0x0|s_waitcnt_lgkmcnt null, 0x0|s_wait_kmcnt 0x0|s_wait_samplecnt 0x0|s_wait_asynccnt 0x0
"""
"""What may end a hazard; on registers that the other texts leave alone."""


_SHAPES = (
    ("v_mfma_f32_4x4x1f32 v_mfma_f32_4x4x1_16b_f32", 4, 1, 1),
    ("v_mfma_f32_16x16x4f32 v_mfma_f32_16x16x4_f32", 4, 1, 1),
    ("v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x2_f32", 16, 1, 1),
    ("v_mfma_f32_4x4x4f16 v_mfma_f32_4x4x4_16b_f16", 4, 2, 2),
    ("v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x16_f16", 4, 2, 2),
    ("v_mfma_f32_32x32x8f16 v_mfma_f32_32x32x8_f16", 16, 2, 2),
    ("v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x4_2b_f16", 32, 2, 2),
    ("v_smfmac_f32_16x16x32_f16", 4, 2, 4),
    ("v_smfmac_f32_32x32x16_f16", 16, 2, 4),
    ("v_mfma_f64_4x4x4f64 v_mfma_f64_4x4x4_4b_f64", 2, 2, 2),
    ("v_mfma_f64_16x16x4f64 v_mfma_f64_16x16x4_f64", 8, 2, 2),
    ("v_wmma_f32_16x16x16_f16", 8, 8, 8),
    ("v_wmma_f32_16x16x16_f16", 8, 4, 4),
    ("v_wmma_f32_16x16x16_f16", 4, 8, 8),
    ("v_wmma_f32_16x16x16_f16", 4, 2, 2),
    ("v_wmma_f32_16x16x32_f16", 8, 8, 8), ("v_wmma_i32_16x16x64_iu8", 8, 8, 8),
    ("v_wmma_f32_16x16x64_fp8_fp8", 8, 8, 8),
    ("v_wmma_f32_16x16x4_f32", 8, 2, 2), ("v_swmmac_f32_16x16x64_f16", 8, 8, 16),
    ("v_swmmac_i32_16x16x128_iu8", 8, 8, 16),
    ("v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4_4b_f16", 16, 2, 2),
)  # fmt: skip
"""Matrix mnemonics (older and newer name), and the registers of D, A and B."""


def _matrix(gpu: str) -> Iterator[str]:
    """Each matrix opcode with D, C, A or the index in turn at register 0, and C overlapping D."""
    file = "a" if gpu == "gfx908" else "v"
    for names, d, a, b in _SHAPES:
        for name in names.split():
            for at_zero in ("d", "c", "a", "dc", "p", "i"):
                yield _matrix_text(name, file, at_zero, (d, a, b))


def _matrix_text(name: str, file: str, at_zero: str, sizes: tuple[int, int, int]) -> str:
    d, a, b = sizes
    sparse = "smfmac" in name or "swmmac" in name

    def span(letter: str, start: int, size: int) -> str:
        return f"{letter}{start}" if size == 1 else f"{letter}[{start}:{start + size - 1}]"

    d_at = 0 if at_zero in ("d", "dc") else 32
    c_at = {"c": 0, "dc": 0, "p": 2}.get(at_zero, 64)
    sources = "a" if file == "a" and at_zero == "a" else "v"
    a_at = 0 if at_zero == "a" else 96
    last = f"v{0 if at_zero == 'i' else 130}" if sparse else span(file, c_at, d)
    if sparse and at_zero in ("c", "dc", "p"):
        d_at = 2 if at_zero == "p" else 0
    return f"{name} {span(file, d_at, d)}, {span(sources, a_at, a)}, {span('v', 112, b)}, {last}"


def _listed(*blocks: str) -> list[str]:
    return [text for block in blocks for line in block.strip().splitlines() for text in line.split("|")]


@cache
def waits(gpu: str, wave: int) -> tuple[tuple[str, Traits], ...]:
    """The instructions of the target that may end a hazard, with their traits."""
    target = find_target(gpu)
    matcher = matcher_for(graph_for(target), target)
    found: list[tuple[str, Traits]] = []
    for text in _listed(_WAITS):
        decoded = isa_for(target, wave).decode(text)
        if not isinstance(decoded, NotDecoded):
            found.append((text, matcher.traits(decoded)))
    return tuple(found)


@cache
def texts(gpu: str, wave: int) -> tuple[tuple[str, Traits], ...]:
    """Every text of the lists that the target has, with its traits."""
    target = find_target(gpu)
    graph, isa = graph_for(target), isa_for(target, wave)
    matcher = matcher_for(graph, target)
    found: list[tuple[str, Traits]] = []
    shapes: set[tuple[str, str]] = set()
    for text in (*_listed(_SCALAR, _VALU, _MEMORY, _PAIRED), *_matrix(gpu)):
        decoded = isa.decode(text)
        if isinstance(decoded, NotDecoded):
            continue
        traits = matcher.traits(decoded)
        key = (traits.opcode, text.split(" ", 1)[1]) if traits.grade else (text, "")
        if key not in shapes:
            shapes.add(key)
            found.append((text, traits))
    return tuple(found)
