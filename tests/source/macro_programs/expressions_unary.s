a = 3
s_mov_b32 s0, - - a
s_mov_b32 s0, -(-a)
s_mov_b32 s0, -~a
s_mov_b32 s0, !!a
s_mov_b32 s0, +a
s_mov_b32 s0, ~-a
s_mov_b32 s0, 2*-a
