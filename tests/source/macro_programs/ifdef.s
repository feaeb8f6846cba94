.set yes, 1
here:
.ifdef yes
 s_nop 0
.endif
.ifndef no
 s_nop 1
.endif
.ifnotdef yes
 s_nop 2
.else
 s_nop 3
.endif
.ifdef here
 s_nop 4
.endif
.ifdef later
 s_nop 5
.endif
later:
waits = nowhere + 1
.ifdef waits
 s_nop 6
.endif
over = here + 4
.ifdef over
 s_nop 7
.endif
