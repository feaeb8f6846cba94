reg = 1
s_setreg_b32 hwreg(reg, 0, 32), s0
s_getreg_b32 s0, hwreg(reg+1)
s_sendmsg sendmsg(reg)
s_setprio reg + 1
s_sleep reg << 1
