.rept 3
 s_nop 0
 .rept 2
  v_mov_b32 v0, v1
  .rept 2
   s_nop 1
  .endr
 .endr
.endr
