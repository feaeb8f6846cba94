a = 0
.if a
 s_nop 0
.elseif 0
 s_nop 1
.elseif a == 0
 s_nop 2
.elseif 1
 s_nop 3
.else
 s_nop 4
.endif
