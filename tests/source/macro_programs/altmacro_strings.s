.altmacro
.macro line text
 text
.endm
line <v_add_f32 v0, v1, v2>
line <s_mov_b32 s0, 1 !> 0>
.noaltmacro
