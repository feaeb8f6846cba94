n = 1
s_nop n
n = n + 1
s_nop n
.set n, n * 2
s_nop n
.equ n, 7
s_nop n
m = n
n = 0
s_nop m
s_nop n
.equiv once, 5
s_nop once
