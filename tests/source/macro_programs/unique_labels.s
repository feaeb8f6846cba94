.macro wait_loop n
 s_mov_b32 s0, \n
loop_\@:
 s_sub_u32 s0, s0, 1
 s_cmp_lg_u32 s0, 0
 s_cbranch_scc1 loop_\@
.endm
wait_loop 3
wait_loop 4
wait_loop 5
