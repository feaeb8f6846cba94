s_mov_b64 [s0,s1], exec
s_mov_b64 s[2:3], [s4,s5]
v_add_f32 [v1], v2, v3
