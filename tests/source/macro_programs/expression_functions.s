a = 3
s_mov_b32 s0, max(a, 5, 2)
s_mov_b32 s0, or(a, 8)
s_mov_b32 s0, max(a, 1) + 1
