off = 4
glc = 1
vmcnt = 2
offset = 8
v7 = 1
global_load_dword v0, v[2:3], off
buffer_load_dword v0, v1, s[0:3], 0 offen offset:offset glc
s_waitcnt vmcnt(vmcnt)
v_mov_b32 v0, v7
v_mov_b32 v[v7], 0
