"a name" = 3
s_nop "a name"
.set "b", 2
s_nop b
"quoted label":
 s_branch "quoted label"
