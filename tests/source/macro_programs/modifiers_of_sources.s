x = 3
v_add_f32 v0, |x|, v1
v_add_f32 v0, -|v1|, v2
v_add_f32 v0, abs(x), v1
v_add_f32 v0, neg(x), v1
v_add_f32 v0, -x, v1
v_add_f32 v[x], -v[x], |v[x+1]|
v_add_f32 v[x], -|v[x]|, abs(v[x+1])
v_mul_f32 v[x], v[x], v2 clamp
v_mul_f32 v[x], v[x], v2 mul:2
v_add_u16_sdwa v[x], v[x], sext(v[x+1]) dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_0
