.print "hello"
.warning "careful"
.macro m
 .print "in m"
 s_nop 0
.endm
m
