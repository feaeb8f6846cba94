// cpu: gfx1100
.if .amdgcn.gfx_generation_number >= 11
 s_nop .amdgcn.gfx_generation_number - 11
.else
 .error "wrong"
.endif
x = 4
v_dual_mov_b32 v[x], v[x+1] :: v_dual_add_f32 v[x+3], v[x+2], v9
s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
v_mov_b32_dpp v0, v1 dpp8:[7,6,5,x,3,2,1,0]
s_waitcnt_vscnt null, x
s_waitcnt_depctr 0xfff
