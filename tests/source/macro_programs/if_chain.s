.macro width n
 .if \n == 1
 global_load_dword v0, v[2:3], off
 .elseif \n == 2
 global_load_dwordx2 v[0:1], v[2:3], off
 .elseif \n == 4
 global_load_dwordx4 v[4:7], v[2:3], off
 .else
 s_nop \n
 .endif
.endm
width 1
width 2
width 4
width 3
