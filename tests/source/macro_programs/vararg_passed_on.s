.macro call name, args:vararg
 \name \args
.endm
.macro add d, a, b
 v_add_f32 v\d, v\a, v\b
.endm
call add, 1, 2, 3
call s_mov_b64, s[0:1], exec
