.irp r, 0, 1, 2, 5
 v_mov_b32 v\r, 0
.endr
.irp r, v1, v[2], s3
 v_mov_b32 v9, \r
.endr
.irp r, 1 2 3
 s_nop \r
.endr
