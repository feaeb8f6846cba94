.macro define name, value
 .macro \name extra=0
 s_mov_b32 s0, \value
 .ifnb \extra
 s_nop \extra
 .endif
 .endm
.endm
define five, 5
define six, 6
five
six 3
