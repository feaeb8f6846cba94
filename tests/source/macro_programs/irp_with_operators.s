.irp e, 1+1, (2 * 3), 4 - 1
 s_nop \e
.endr
.irp e, -1, ~0
 s_mov_b32 s0, \e
.endr
