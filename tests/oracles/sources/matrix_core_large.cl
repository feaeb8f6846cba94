#include "device.h"

// Several accumulators at once: AGPRs where they exist.
KERNEL void matrix_core_large(__global const float *a, __global const float *b, __global float *out, uint n) {
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  float16 sum[SIZE];
  for (int j = 0; j < SIZE; j++)
    sum[j] = (float)j;
  for (uint k = 0; k < n; k++)
#pragma unroll
    for (int j = 0; j < SIZE; j++)
      sum[j] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[k * WG + lane() + j], b[k * WG + lane() + j], sum[j], 0, 0, 0);
#pragma unroll
  for (int j = 0; j < SIZE; j++)
#pragma unroll
    for (int i = 0; i < 16; i++)
      out[(j * 16 + i) * WG + lane()] = sum[j][i];
#else
  float sum[SIZE * 4];
  for (int j = 0; j < SIZE * 4; j++)
    sum[j] = (float)j;
  for (uint k = 0; k < n; k++)
#pragma unroll
    for (int j = 0; j < SIZE * 4; j++)
      sum[j] = a[k * WG + lane() + j] * b[k * WG + lane() + j] + sum[j];
#pragma unroll
  for (int j = 0; j < SIZE * 4; j++)
    out[j * WG + lane()] = sum[j];
#endif
}
