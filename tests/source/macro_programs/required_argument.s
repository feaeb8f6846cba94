.macro load base:req, offset=0
 s_load_dwordx2 s[\base:\base+1], s[4:5], \offset
.endm
load 6
load 8, 16
load offset=32, base=10
