v_mov_b32 v9, v3
s_mov_b64 s[6:7], exec
s_nop .amdgcn.next_free_vgpr - 8
s_nop .amdgcn.next_free_sgpr - 4
.set .amdgcn.next_free_vgpr, 0
v_add_f32 v2, v1, v0
s_nop .amdgcn.next_free_vgpr
.macro use n
 v_mov_b32 v[\n], 0
.endm
use 5
use 3
s_nop .amdgcn.next_free_vgpr
saved = .amdgcn.next_free_vgpr
v_mov_b32 v20, 0
s_nop saved
