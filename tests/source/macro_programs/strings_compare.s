.macro pick op
 .ifeqs "\op", "add"
 v_add_f32 v0, v0, v1
 .else
 v_mul_f32 v0, v0, v1
 .endif
 .ifnes "\op", "add"
 s_nop 1
 .endif
.endm
pick add
pick mul
