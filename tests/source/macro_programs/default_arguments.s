.macro fill first, value=0x10, count=2
 .rept \count
 v_mov_b32 v[\first], \value
 .endr
.endm
fill 1
fill 2, 5
fill 3, , 3
fill 4, count=1
fill count=2, first=6, value=1.0
