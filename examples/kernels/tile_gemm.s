; D = A * B + C for one 16x16 tile of f32, A and B 16x16 of f16: one wave64, one MFMA a step of K = 16.
; Kernel arguments: a, b, d (8 bytes each), steps (4 bytes).
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl tile_gemm
.p2align 8
.type tile_gemm,@function
tile_gemm:
  s_load_dwordx4 s[4:7], s[0:1], 0x0        ; a, b
  s_load_dwordx4 s[8:11], s[0:1], 0x10      ; d, steps
  v_and_b32 v0, 0x3ff, v0                   ; lane
  v_lshlrev_b32 v1, 3, v0                   ; four f16 a lane
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0
  v_mov_b32 v7, 0
  s_waitcnt lgkmcnt(0)
.Lstep:
  global_load_dwordx2 v[8:9], v1, s[4:5]
  global_load_dwordx2 v[10:11], v1, s[6:7]
  v_add_u32 v1, 0x200, v1
  s_sub_u32 s10, s10, 1
  s_waitcnt vmcnt(0)
  v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 .Lstep
  v_lshlrev_b32 v2, 4, v0                   ; four f32 a lane
  s_nop 3                                   ; the MFMA has four passes: 7 wait states to a store of its result
  global_store_dwordx4 v2, v[4:7], s[8:9]
  s_endpgm
.Ltile_gemm_end:
.size tile_gemm, .Ltile_gemm_end-tile_gemm

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel tile_gemm
  .amdhsa_kernarg_size 28
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 12
  .amdhsa_next_free_sgpr 12
  .amdhsa_accum_offset 12
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: tile_gemm
    .symbol: tile_gemm.kd
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [ 64, 1, 1 ]
    .sgpr_count: 18
    .vgpr_count: 12
    .agpr_count: 0
    .wavefront_size: 64
    .args:
      - { .name: a, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .actual_access: read_only }
      - { .name: b, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global, .actual_access: read_only }
      - { .name: d, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global, .actual_access: write_only }
      - { .name: steps, .size: 4, .offset: 24, .value_kind: by_value }
...
.end_amdgpu_metadata
