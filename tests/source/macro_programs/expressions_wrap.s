big = 0x7fffffffffffffff
wrap = big + 1
s_mov_b32 s0, wrap >> 63
s_mov_b32 s0, (wrap - 1) >> 56
s_mov_b32 s0, (0xffffffffffffffff == -1) & 3
s_mov_b32 s0, (big * 2) + 2
