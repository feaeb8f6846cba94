a = 7
s_mov_b32 s0, a + 3 * 2
s_mov_b32 s0, (a + 3) * 2
s_mov_b32 s0, a / 2
s_mov_b32 s0, -a / 2
s_mov_b32 s0, a % 4
s_mov_b32 s0, -a % 4
s_mov_b32 s0, a - 1 - 2
s_mov_b32 s0, 2 * a + 3 * a
