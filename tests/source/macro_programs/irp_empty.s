.irp r, 1, , 3
 .ifb \r
 s_nop 7
 .else
 s_nop \r
 .endif
.endr
.irp r,
 s_nop 1
.endr
