.macro count n
 .if \n > 0
 s_nop \n
 count (\n-1)
 .endif
.endm
count 5
