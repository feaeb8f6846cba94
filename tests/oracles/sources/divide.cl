#include "device.h"

KERNEL void divide(__global const int *a, __global const uint *b, __global float *f, __global int *out, int d) {
  uint i = global_index();
  int q = a[i] / d, r = a[i] % (int)(b[i] | 1);
  uint u = b[i] / 7u + b[i] % 1000u;
  f[i] = f[i] / (float)d + 1.0f / (float)u;
  out[i] = q + r + (int)u;
}
