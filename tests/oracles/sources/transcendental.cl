#include "device.h"

KERNEL void transcendental(__global const float *a, __global float *out) {
  uint i = global_index();
  float x = a[i];
  out[i] = __builtin_sinf(x) + __builtin_cosf(x * 2) + __builtin_expf(-x) + __builtin_logf(x + 1) +
           __builtin_sqrtf(x) + __builtin_exp2f(x) * __builtin_log2f(x) + __builtin_amdgcn_rcpf(x) +
           __builtin_amdgcn_rsqf(x) + __builtin_floorf(x) + __builtin_truncf(x) + __builtin_rintf(x * 3);
}
