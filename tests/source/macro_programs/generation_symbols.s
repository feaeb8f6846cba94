.if .amdgcn.gfx_generation_number == 9
 s_nop .amdgcn.gfx_generation_number - 8
.endif
.if .amdgcn.gfx_generation_minor == 0 && .amdgcn.gfx_generation_stepping >= 8
 s_nop 2
.else
 s_nop 3
.endif
