.macro nop
 s_nop 0
.endm
nop
