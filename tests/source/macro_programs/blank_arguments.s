.macro opt a, b
 .ifb \b
 s_mov_b32 s0, \a
 .else
 s_mov_b64 s[0:1], \a
 .endif
 .ifnb \a
 s_nop 2
 .endif
.endm
opt 1
opt 1, wide
opt 5, ""
