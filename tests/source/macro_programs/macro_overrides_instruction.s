.macro s_nop_twice
 s_nop 0
 s_nop 0
.endm
.macro v_zero dst
 v_mov_b32 \dst, 0
.endm
v_zero v3
s_nop_twice
