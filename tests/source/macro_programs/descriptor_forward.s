.text
k:
 s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_next_free_vgpr later
 .amdhsa_next_free_sgpr 8
 .amdhsa_accum_offset 8
.end_amdhsa_kernel
.set later, max(3, 8)
