.rept 3
 s_nop \+
.endr
.irp x, a, b, c
 s_mov_b32 s\+, \+
.endr
.macro m
 s_nop \+
.endm
m
m
m
