.macro imm a, b=7
 s_mov_b32 s0, \a
 s_mov_b32 s1, \b
.endm
imm 4 + 2
imm 4 - 2, 3
imm (1 + 2) * 3, 2
imm 1 << 4 | 1
imm -5, ~6
imm !0 5
imm 2*3 4/2
