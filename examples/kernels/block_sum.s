; out[group] = sum of 64 floats, one work-group of two wave32 a block, through LDS.
; Kernel arguments: in (8 bytes), out (8 bytes).
.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
.text
.globl block_sum
.p2align 8
.type block_sum,@function
block_sum:
  s_load_b128 s[4:7], s[0:1], 0x0           ; in, out
  v_and_b32 v0, 0x3ff, v0                   ; work-item x
  v_lshlrev_b32 v1, 2, v0                   ; byte offset in the block, and in LDS
  s_lshl_b32 s3, s15, 8                     ; first byte of the block
  v_add_nc_u32 v2, s3, v1
  s_waitcnt lgkmcnt(0)
  global_load_b32 v3, v2, s[4:5]
  s_waitcnt vmcnt(0)
  ds_store_b32 v1, v3
  s_mov_b32 s8, 32                          ; distance of the pairs that are added
.Lhalve:
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_cmp_gt_u32 vcc_lo, s8, v0
  s_and_saveexec_b32 s9, vcc_lo
  s_cbranch_execz .Lskip
  v_add_nc_u32 v4, s8, v0
  v_lshlrev_b32 v4, 2, v4
  ds_load_b32 v5, v4
  ds_load_b32 v6, v1
  s_waitcnt lgkmcnt(0)
  v_add_f32 v6, v5, v6
  ds_store_b32 v1, v6
.Lskip:
  s_or_b32 exec_lo, exec_lo, s9
  s_lshr_b32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lhalve
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_cmp_eq_u32 vcc_lo, 0, v0
  s_and_saveexec_b32 s9, vcc_lo
  s_cbranch_execz .Lend
  ds_load_b32 v6, v1
  s_lshl_b32 s3, s15, 2
  v_mov_b32 v4, s3
  s_waitcnt lgkmcnt(0)
  global_store_b32 v4, v6, s[6:7]
.Lend:
  s_endpgm
.Lblock_sum_end:
.size block_sum, .Lblock_sum_end-block_sum

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel block_sum
  .amdhsa_group_segment_fixed_size 256
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_count 15
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_wavefront_size32 1
  .amdhsa_next_free_vgpr 7
  .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx1100
amdhsa.kernels:
  - .name: block_sum
    .symbol: block_sum.kd
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 256
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [ 64, 1, 1 ]
    .sgpr_count: 18
    .vgpr_count: 7
    .wavefront_size: 32
    .args:
      - { .name: in, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .actual_access: read_only }
      - { .name: out, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global, .actual_access: write_only }
...
.end_amdgpu_metadata
