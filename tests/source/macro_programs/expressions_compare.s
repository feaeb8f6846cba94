a = 5
s_mov_b32 s0, a == 5
s_mov_b32 s0, a != 5
s_mov_b32 s0, a < 6
s_mov_b32 s0, a <= 5
s_mov_b32 s0, a > 6
s_mov_b32 s0, a >= 5
s_mov_b32 s0, a <> 4
s_mov_b32 s0, a && 0
s_mov_b32 s0, a || 0
s_mov_b32 s0, !a
s_mov_b32 s0, 1 == 1 == -1
s_mov_b32 s0, 1 + 1 == 2 && 3 < 4
