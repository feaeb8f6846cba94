.altmacro
.macro unroll n
 .if n
 unroll %n-1
 s_nop n
 .endif
.endm
unroll 6
.noaltmacro
