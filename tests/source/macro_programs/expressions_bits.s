a = 0x55
s_mov_b32 s0, a & 0xf
s_mov_b32 s0, a | 0xf00
s_mov_b32 s0, a ^ 0xff
s_mov_b32 s0, ~a
s_mov_b32 s0, a << 4
s_mov_b32 s0, a >> 4
s_mov_b32 s0, 1 | 2 + 3 << 1
s_mov_b32 s0, 5 ^ 1 & 1
s_mov_b32 s0, 3 ! 4
s_mov_b32 s0, -8 >> 60
