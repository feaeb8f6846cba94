"""A small kernel with a branch, for comparing two versions of a file."""

KERNEL = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
k:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v1, v1
  v_mul_f32_e32 v3, v2, v1
  v_cmp_lt_f32_e32 vcc, v2, v3
  s_and_saveexec_b64 s[6:7], vcc
  s_cbranch_execz .L1
  v_add_u32_e32 v3, v3, v2
.L1:
  s_or_b64 exec, exec, s[6:7]
  global_store_dword v0, v3, s[4:5]
  s_endpgm
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
"""
