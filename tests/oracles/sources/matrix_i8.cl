#include "device.h"

KERNEL void matrix_i8(__global const int *a, __global const int *b, __global int *out, uint n) {
#if defined(__gfx908__) || defined(__gfx90a__)
  int4 sum = 0;
  for (uint k = 0; k < n; k++)
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(a[k * WG + lane()], b[k * WG + lane()], sum, 0, 0, 0);
  *(__global int4 *)(out + lane() * 4) = sum;
#else
  int sum = 0;
  for (uint k = 0; k < n; k++) {
    char4 x = as_char4(a[k * WG + lane()]), y = as_char4(b[k * WG + lane()]);
    sum += x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
  }
  out[lane()] = sum;
#endif
}
