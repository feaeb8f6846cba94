a = 1
b = 0
.if a
 .if b
  s_nop 0
 .else
  s_nop 1
  .if a && !b
   s_nop 2
  .endif
 .endif
.else
 .if a
  s_nop 3
 .else
  s_nop 4
 .endif
.endif
