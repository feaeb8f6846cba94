.macro outer x
 .macro inner y
  s_mov_b32 s\x, \y
  s_mov_b32 s1, \y
 .endm
.endm
outer 3
inner 5
