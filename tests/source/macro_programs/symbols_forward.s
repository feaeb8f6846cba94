w = later + 1
later = 2
s_nop w
v = w * 2
s_nop v
