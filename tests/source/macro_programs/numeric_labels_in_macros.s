.macro spin n
1:
 s_sub_u32 s0, s0, \n
 s_cbranch_scc1 1b
 s_cbranch_scc0 2f
 s_nop \n
2:
.endm
spin 1
spin 2
spin 3
