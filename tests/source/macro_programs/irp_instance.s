.macro a
 s_nop 0
.endm
a
a
.irp x, 1, 2
l\@_\x: s_branch l\@_\x
.endr
