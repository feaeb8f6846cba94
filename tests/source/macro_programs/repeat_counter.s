i = 0
.rept 8
 v_mov_b32 v[i], i
 i = i + 1
.endr
.set i, 0
.rept 8
 v_add_f32 v[i], v[i+8], v[7-i]
 .set i, i+1
.endr
