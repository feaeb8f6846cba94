"""What an instruction does besides computing registers, and what it touches without naming it."""

from __future__ import annotations

import re

from asmevo_gate.isa.instruction import VMEM, Decoded, Op

MEMORY = VMEM | Op.SMEM | Op.DS | Op.GDS | Op.EXPORT | Op.LDSDIR | Op.LDS_DMA | Op.GWS
CONTROL = Op.BRANCH | Op.TERMINATOR | Op.INDIRECT | Op.CALL
_TIMING = frozenset(
    [
        *("s_nop", "v_nop", "s_delay_alu", "s_clause", "s_inst_prefetch", "s_set_inst_prefetch_distance"),
        *("s_wait_alu", "s_waitcnt_depctr", "s_wait_idle", "s_sleep"),
    ]
)
_EFFECTS = re.compile(
    r"s_(barrier|sendmsg|setreg|getreg|trap|sethalt|setkill|setprio|icache|dcache|gl1|ttrace|memtime|memrealtime|"
    r"get_barrier|alloc|set_vgpr|monitor|wakeup|incperflevel|decperflevel|prefetch|code_end|version|round_mode|"
    r"denorm_mode|getpc|[a-z]+_pc_i64|get_shader)"
)
_RENAMES_REGISTERS = re.compile(r"v_movrel|s_movrel|s_set_gpr_idx|s_set_vgpr_msb|v_load_store_idx|v_permlane_idx")


def renames_registers(decoded: Decoded) -> bool:
    """True for what touches a register that its text does not name (M0-relative, GPR index mode, VGPR MSBs)."""
    return bool(_RENAMES_REGISTERS.match(decoded.base)) or decoded.has_indexed


def is_timing(decoded: Decoded) -> bool:
    """True for waits and padding: they change when things happen, never what is computed."""
    return bool(decoded.classes & Op.WAIT) or decoded.base in _TIMING


def has_effect(decoded: Decoded) -> bool:
    """True for what does more than computing registers: memory, messages, barriers, hardware registers, control."""
    return bool(
        decoded.classes & (MEMORY | CONTROL | Op.BARRIER)
        or _EFFECTS.match(decoded.base)
        or (decoded.classes & Op.SOPP and not is_timing(decoded))
    )
