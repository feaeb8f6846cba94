.irp i, 0, 1
.irp j, 2, 3
 v_mul_f32 v\i\j, v\i, v\j
.endr
.endr
