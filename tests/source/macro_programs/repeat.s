.rept 4
 s_nop 0
.endr
.rept 0
 s_nop 1
.endr
.rept 1+1
 s_nop 2
.endr
.rep 2
 s_nop 3
.endr
