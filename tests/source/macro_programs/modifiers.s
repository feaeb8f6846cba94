off0 = 16
m = 3
buffer_load_dword v0, v1, s[0:3], 0 offen offset:off0
buffer_load_dword v0, v1, s[0:3], s4 offen offset:off0*4+8 glc
buffer_load_dword v0, off, s[0:3], 0 offset:off0
ds_read_b32 v0, v1 offset:off0+4
ds_read2_b32 v[0:1], v2 offset0:m offset1:m+1
ds_write_b32 v0, v1 offset:(off0 + 2) * 2
v_mov_b32_dpp v0, v1 quad_perm:[m,m-1,1,0] row_mask:0xf bank_mask:m
v_mov_b32_dpp v0, v1 row_shr:m row_mask:0xf bank_mask:0xf bound_ctrl:0
global_load_dword v0, v[2:3], off offset:off0
v_pk_fma_f16 v0, v1, v2, v3 op_sel:[m-3,0,m-2] neg_lo:[m-2,0,0]
