.macro body
 s_nop 1
.endm
top: body
again: .rept 2
 s_nop 2
.endr
a: b: s_branch a
