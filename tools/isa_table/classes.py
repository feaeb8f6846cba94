"""Class bits of an instruction from LLVM's TSFlags and MCInstrDesc flags; names where no flag tells.

The positions are those of ``SIInstrFlags`` in LLVM's SIDefines.h and of ``MCID::Flag``.
"""

from __future__ import annotations

import re

from descriptions import Opcode

from asmevo_gate.isa.instruction import Op

_TSFLAGS = {
    0: Op.SALU, 1: Op.VALU, 6: Op.SOPP, 9: Op.VOPC, 10: Op.VOP3, 12: Op.VOP3P, 14: Op.SDWA, 15: Op.DPP, 16: Op.TRANS,
    17: Op.BUFFER, 18: Op.BUFFER, 19: Op.SMEM, 20: Op.IMAGE, 21: Op.IMAGE, 22: Op.IMAGE, 23: Op.EXPORT, 25: Op.DS,
    28: Op.LDSDIR, 32: Op.VM_CNT, 33: Op.EXP_CNT, 34: Op.LGKM_CNT, 38: Op.TENSOR_CNT, 39: Op.SCALAR_STORE,
    41: Op.ASYNC_CNT, 49: Op.PACKED, 53: Op.FP_ATOMIC, 55: Op.DOT, 57: Op.ATOMIC, 58: Op.ATOMIC | Op.ATOMIC_RETURN,
    59: Op.WMMA, 62: Op.GWS | Op.GDS, 63: Op.WMMA | Op.SPARSE,
}  # fmt: skip
_FLAT, _MAI = 24, 54
_MAY_LOAD, _MAY_STORE = 19, 20
FORMAT = Op.VOPC | Op.VOP3 | Op.VOP3P | Op.SDWA | Op.DPP
"""Bits of the encoding: a bare mnemonic takes them from its shortest encoding."""
_MEMORY = Op.SMEM | Op.BUFFER | Op.IMAGE | Op.FLAT | Op.GLOBAL | Op.SCRATCH | Op.DS | Op.LDSDIR

_BY_NAME = tuple(
    (re.compile(pattern), classes)
    for pattern, classes in (
        (r"image_(sample|gather|get_lod|msaa_load)", Op.SAMPLE),
        (r"image_bvh", Op.BVH),
        (r"s_barrier|ds_gws_barrier", Op.BARRIER),
        (r"s_wait(cnt|_)", Op.WAIT),
        (r"s_(branch|cbranch|setpc|swappc|call|subvector_loop|rfe|add_pc|set_pc|swap_pc)", Op.BRANCH),
        (r"s_(cbranch|subvector_loop)", Op.CONDITIONAL),
        (r"s_(setpc|swappc|rfe|add_pc|set_pc|swap_pc|cbranch_(g_fork|i_fork|join))", Op.INDIRECT),
        (r"s_(swappc|swap_pc|call)", Op.CALL),
        (r"s_(endpgm|branch|setpc|set_pc|rfe|add_pc)", Op.TERMINATOR),
        (r".*_load_lds_|.*_load_async_to_lds|tensor_load_to_lds|buffer_load\w*_lds", Op.LDS_DMA),
        (r"v_accvgpr", Op.ACCVGPR),
        (r"v_(mfma|smfmac)", Op.MFMA),
        (r"v_smfmac", Op.SPARSE),
        (r"(s_sendmsg|s_trap|s_sethalt|s_setreg|s_icache|s_dcache|s_incperflevel|s_decperflevel|s_ttrace|s_sleep"
         r"|s_setprio|s_set_gpr_idx|s_setkill|s_setvskip|s_prefetch|s_barrier|s_get_|s_rfe|s_wakeup|s_inst_prefetch"
         r"|s_set_inst_prefetch|s_round_mode|s_denorm_mode|s_alloc_vgpr|s_set_vgpr_msb"
         r"|s_monitor_sleep)", Op.UNMODELLED),
    )
)  # fmt: skip


def classes_of(base: str, opcode: Opcode) -> int:
    """The class bits of one opcode under a mnemonic."""
    found = Op.NONE
    for bit, classes in _TSFLAGS.items():
        if opcode.tsflags >> bit & 1:
            found |= classes
    if opcode.tsflags >> _FLAT & 1:
        found |= Op.SCRATCH if base.startswith("scratch_") else Op.FLAT if base.startswith("flat_") else Op.GLOBAL
    for pattern, classes in _BY_NAME:
        if pattern.match(base):
            found |= classes
    if found & _MEMORY:
        if opcode.flags >> _MAY_LOAD & 1:
            found |= Op.LOAD
        if opcode.flags >> _MAY_STORE & 1:
            found |= Op.STORE
        if "atomic" in base:
            found |= Op.ATOMIC
    return found


def combined(base: str, opcodes: list[Opcode]) -> tuple[int, int, str]:
    """Class bits, least size in bytes and scheduling class of a form: the union of what its opcodes are, with
    encoding bits, size and schedule of the shortest one."""
    shortest = min(opcodes, key=lambda opcode: (opcode.size or 99, opcode.name))
    found = Op.NONE
    for opcode in opcodes:
        found |= classes_of(base, opcode) & ~FORMAT
    return found | (classes_of(base, shortest) & FORMAT), shortest.size, shortest.schedule
