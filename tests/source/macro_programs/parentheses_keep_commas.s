.macro wait x
 s_waitcnt \x
.endm
wait vmcnt(0)
wait vmcnt(1)&lgkmcnt(2)
wait vmcnt(3) & lgkmcnt(4)
wait lgkmcnt(0)
