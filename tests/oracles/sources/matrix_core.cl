#include "device.h"

// Matrix instructions where the target has them, dot products elsewhere.
KERNEL void matrix_core(__global const half4 *a, __global const half4 *b, __global float *out, uint n) {
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  float16 sum = 0, other = 0;
  for (uint k = 0; k < n; k++) {
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a[k * WG + lane()], b[k * WG + lane()], sum, 0, 0, 0);
    other = __builtin_amdgcn_mfma_f32_32x32x8f16(b[k * WG + lane()], a[k * WG + lane()], other, 0, 0, 0);
  }
  float4 small = __builtin_amdgcn_mfma_f32_16x16x4f32(sum[0], other[1], (float4)0, 0, 0, 0);
  for (int i = 0; i < 16; i++)
    out[i * WG + lane()] = sum[i] * other[i] + small[i % 4];
#elif defined(__GFX11__) && !defined(WAVE64)
  half16 x = 0, y = 0;
  float8 sum = 0;
  for (uint k = 0; k < n; k++) {
    for (int i = 0; i < 16; i++) {
      x[i] = a[k * WG + lane() + i][i % 4];
      y[i] = b[k * WG + lane() + i][i % 4];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, sum);
  }
  for (int i = 0; i < 8; i++)
    out[i * WG + lane()] = sum[i];
#elif (defined(__gfx1200__) || defined(__gfx1201__)) && !defined(WAVE64)
  half8 x = 0, y = 0;
  float8 sum = 0;
  for (uint k = 0; k < n; k++) {
    for (int i = 0; i < 8; i++) {
      x[i] = a[k * WG + lane() + i][i % 4];
      y[i] = b[k * WG + lane() + i][i % 4];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, sum);
  }
  for (int i = 0; i < 8; i++)
    out[i * WG + lane()] = sum[i];
#elif defined(__gfx1250__)
  half16 x = 0, y = 0;
  float8 sum = 0;
  for (uint k = 0; k < n; k++) {
    for (int i = 0; i < 16; i++) {
      x[i] = a[k * WG + lane() + i][i % 4];
      y[i] = b[k * WG + lane() + i][i % 4];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x32_f16(0, x, 0, y, 0, sum, 0, 0);
  }
  for (int i = 0; i < 8; i++)
    out[i * WG + lane()] = sum[i];
#else
  float sum = 0;
  for (uint k = 0; k < n; k++)
    for (int i = 0; i < 4; i++)
      sum += (float)a[k * WG + lane()][i] * (float)b[k * WG + lane()][i];
  out[lane()] = sum;
#endif
}
