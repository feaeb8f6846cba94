.macro ld n, base, addr, off=0
 .if \n == 4
 global_load_dwordx4 v[\base:\base+3], \addr, off offset:\off
 .elseif \n == 2
 global_load_dwordx2 v[\base:\base+1], \addr, off offset:\off
 .elseif \n == 1
 global_load_dword v[\base], \addr, off offset:\off
 .else
 ld 4, \base, \addr, \off
 ld (\n-4), (\base+4), \addr, (\off+16)
 .endif
.endm
ld 1, 8, v[2:3]
ld 2, 8, v[2:3], 64
ld 8, 16, v[2:3]
ld 6, 32, v[2:3], 128
