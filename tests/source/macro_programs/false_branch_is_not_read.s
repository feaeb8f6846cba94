.if 0
 this is no instruction at all
 .macro inside
 s_nop 0
 .endm
 .if 1
 nonsense ( [
 .elseif 1
 .endif
 label: more
.endif
 s_nop 1
