// cpu: gfx1201
n = 2
s_wait_loadcnt n
s_wait_dscnt n-1
s_wait_loadcnt_dscnt (n << 8) | n
s_wait_kmcnt 0
s_barrier_signal -1
s_barrier_wait -1
