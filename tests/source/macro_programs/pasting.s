.macro op kind, width, dst
 v_\kind\()_\width v\dst, v\dst, v\dst
 .if \dst > 2
 v_mov_b\()32 v\()\dst, 1
 .endif
.endm
op add, f32, 1
op mul, f32, 3
