.altmacro
.macro put reg, value
 s_mov_b32 s\reg, value
.endm
put 0, %1+2
n = 4
put %n, %(n*n)
put %n+1, %-n
.rept 3
 put %n, %n*10
 n = n + 1
.endr
.noaltmacro
