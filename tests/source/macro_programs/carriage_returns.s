.macro m a
 s_nop \a
.endm
m 1
m 2 // x
/* a
 b */ s_nop 3
.rept 2
 s_nop 4
.endr
