.macro x
 s_nop 1
.endm
x
.purgem x
.macro x
 s_nop 2
.endm
x
