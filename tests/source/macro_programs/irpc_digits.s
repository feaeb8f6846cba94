.irpc d, 0123
 v_mov_b32 v\d, \d
.endr
.irpc c, xyz
 .ifc \c, y
 s_nop 1
 .endif
.endr
.irpc d, "45"
 s_nop \d
.endr
