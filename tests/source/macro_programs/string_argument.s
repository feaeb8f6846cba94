.macro asm text
 \text
.endm
asm "v_add_f32 v0, v1, v2"
asm "s_nop 3"
asm "s_mov_b32 s0, 1 // comment"
