s_mov_b32 s0, 0x1F + 1
s_mov_b32 s0, 0b1010 + 1
s_mov_b32 s0, 017 + 1
s_mov_b32 s0, 'a' + 1
s_mov_b32 s0, '\n' + 1
s_mov_b32 s0, 100 + 1
