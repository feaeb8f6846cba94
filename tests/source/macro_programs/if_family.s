x = 3
.ifeq x-3
 s_nop 0
.endif
.ifne x
 s_nop 1
.endif
.iflt x-4
 s_nop 2
.endif
.ifle x-3
 s_nop 3
.endif
.ifgt x
 s_nop 4
.endif
.ifge x-4
 s_nop 5
.else
 s_nop 6
.endif
