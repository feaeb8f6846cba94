k:
 v_mov_b32 v7, 0
 s_mov_b32 s11, 0
 s_endpgm
regs = 8
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_next_free_vgpr .amdgcn.next_free_vgpr
 .amdhsa_next_free_sgpr .amdgcn.next_free_sgpr
 .amdhsa_accum_offset (regs + 3) / 4 * 4
 .amdhsa_group_segment_fixed_size regs * 64
 .amdhsa_user_sgpr_kernarg_segment_ptr !(regs < 3)
.end_amdhsa_kernel
