i = 0
.rept 10
 .if i == 3
 .exitm
 .endif
 s_nop i
 i = i + 1
.endr
s_nop 7
