 s_nop 0
.macro stop
 s_nop 1
.end
 s_nop 2
.endm
stop
 s_nop 3
 garbage here
