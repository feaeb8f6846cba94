.macro pick n
 .if \n > 3
 s_nop 3
 .exitm
 .endif
 s_nop \n
 .exitm
 s_nop 7
.endm
pick 1
pick 5
