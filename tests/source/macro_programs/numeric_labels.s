1: s_nop 0
 s_cbranch_scc0 1b
 s_cbranch_scc1 1f
2: s_branch 1b
1:
 s_branch 2b
 s_branch 2f
2: s_endpgm
