vA = 4
vB = 12
s_k = 20
v_mov_b32 v[vA], v[vB]
v_mov_b32 v[vA+1], v[vB+3]
global_load_dwordx4 v[vA:vA+3], v[vB:vB+1], off
s_load_dwordx4 s[s_k:s_k+3], s[4:5], 0x10
v_mov_b32 v[vA*2], s[s_k-1]
v_add_f32 v[(vA)], v[ vB ], v [vA]
s_mov_b64 s[s_k : s_k + 1], exec
v_mov_b32 v[0x10], v[010]
