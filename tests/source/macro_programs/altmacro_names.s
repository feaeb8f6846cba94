.altmacro
.macro pair lo, hi
 v_mov_b32 v&lo, v&hi
 v_add_f32 vlo, v\lo, v\hi
.endm
.noaltmacro
.altmacro
.macro pair2 lo, hi
 v_add_f32 v\lo&, v\lo, v\hi
 v_mov_b32 v[lo], hi
.endm
pair2 1, 2
.noaltmacro
.macro pair3 lo, hi
 v_mov_b32 v\lo, v\hi
.endm
pair3 5, 6
