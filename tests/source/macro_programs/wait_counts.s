vm = 3
lg = 2
s_waitcnt vmcnt(vm)
s_waitcnt vmcnt(vm+1) & lgkmcnt(lg)
s_waitcnt lgkmcnt(lg-1)
s_waitcnt vm
s_waitcnt (vm & 15) | (7 << 4) | (lg << 8)
s_waitcnt vmcnt(vm) lgkmcnt(lg)
