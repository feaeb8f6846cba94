.macro three a, b, c
 v_fma_f32 \a, \b, \c, \a
.endm
three v0 v1 v2
three v0,v1,v2
three v0 , v1 , v2
three v[0], -v[1], |v2|
three v0, abs(v1), neg(v2)
three v0 , -v1 v2
