.macro move dst, src
 v_mov_b32 v\dst, v\src
.endm
move 1, 2
move 3 4
move dst=5, src=6
move src=7, dst=8
