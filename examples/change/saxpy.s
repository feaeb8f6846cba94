; y[i] = a * x[i] + y[i], one element a work-item, work-groups of 256.
; Kernel arguments: x (8 bytes), y (8 bytes), a (4 bytes), n (4 bytes).
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl saxpy
.p2align 8
.type saxpy,@function
saxpy:
  s_load_dwordx4 s[0:3], s[4:5], 0x0        ; x, y
  s_load_dwordx2 s[8:9], s[4:5], 0x10       ; a, n
  v_and_b32 v0, 0x3ff, v0                   ; work-item x of the packed ids
  s_lshl_b32 s7, s6, 8
  v_add_u32 v0, s7, v0                      ; i
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32 vcc, s9, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz .Lend
  v_mov_b32 v1, 0
  v_lshlrev_b64 v[2:3], 2, v[0:1]
  v_mov_b32 v65, s1
  v_add_co_u32 v64, vcc, s0, v2
  v_addc_co_u32 v65, vcc, v65, v3, vcc
  v_mov_b32 v67, s3
  v_add_co_u32 v66, vcc, s2, v2
  v_addc_co_u32 v67, vcc, v67, v3, vcc
  global_load_dword v68, v[64:65], off
  global_load_dword v69, v[66:67], off
  s_waitcnt vmcnt(0)
  v_fmac_f32 v69, s8, v68
  global_store_dword v[66:67], v69, off
.Lend:
  s_endpgm
.Lsaxpy_end:
.size saxpy, .Lsaxpy_end-saxpy

.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel saxpy
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 70
  .amdhsa_next_free_sgpr 12
  .amdhsa_accum_offset 72
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: saxpy
    .symbol: saxpy.kd
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [ 256, 1, 1 ]
    .sgpr_count: 18
    .vgpr_count: 70
    .agpr_count: 0
    .wavefront_size: 64
    .args:
      - { .name: x, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .actual_access: read_only }
      - { .name: y, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global, .actual_access: read_write }
      - { .name: a, .size: 4, .offset: 16, .value_kind: by_value }
      - { .name: n, .size: 4, .offset: 20, .value_kind: by_value }
...
.end_amdgpu_metadata
