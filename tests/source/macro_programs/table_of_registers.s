.macro alloc name, count
 .set \name, next
 .set next, next + \count
.endm
next = 0
alloc vAcc, 16
alloc vA, 4
alloc vB, 4
alloc vAddr, 2
global_load_dwordx4 v[vA:vA+3], v[vAddr:vAddr+1], off
global_load_dwordx4 v[vB:vB+3], v[vAddr:vAddr+1], off offset:16
i = 0
.rept 4
j = 0
.rept 4
 v_fmac_f32 v[vAcc+i*4+j], v[vA+i], v[vB+j]
 j = j + 1
.endr
 i = i + 1
.endr
