.macro dpp mods
 v_mov_b32_dpp v0, v1 \mods
.endm
dpp "quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"
.macro sel a, b
 v_pk_add_f16 v0, v1, v2 op_sel:[\a,\b] op_sel_hi:[\b,\a]
.endm
sel 0, 1
sel 1 0
