.set w, 0xbf800000
.long w, w + 1
.long 0xbf810000
.byte 1, 2, 3, 4
.quad 0x1122334455667788
.fill 4, 4, w
.p2align 4
.short 1+1, 2
