.macro each op, first, rest:vararg
 \op \first, 0
 .ifnb \rest
 each \op, \rest
 .endif
.endm
each s_mov_b32, s0, s1, s2, s3
each v_mov_b32, v0
