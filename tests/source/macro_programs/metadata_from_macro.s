.macro meta name, regs=4
.amdgpu_metadata
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: \name
    .symbol: \name\().kd // symbol
    .vgpr_count: \regs
    .sgpr_count: 8
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .max_flat_workgroup_size: 64
.end_amdgpu_metadata
.endm
k: s_endpgm
meta k, 7
