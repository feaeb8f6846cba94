acc0 = 8
v_accvgpr_read_b32 v0, a[acc0]
v_accvgpr_write_b32 a[acc0+1], v1
v_accvgpr_write_b32 acc[acc0+2], v1
v_mfma_f32_32x32x1f32 a[acc0:acc0+31], v0, v1, a[acc0:acc0+31]
v_mfma_f32_4x4x1f32 acc[0:3], v0, v1, acc[0:3] cbsz:1+1
