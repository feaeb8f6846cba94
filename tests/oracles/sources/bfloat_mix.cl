#include "device.h"

static float widen(ushort x) { return as_float((uint)x << 16); }
static ushort narrow(float x) {
  uint u = as_uint(x);
  return (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
KERNEL void bfloat_mix(__global const ushort *a, __global const ushort *b, __global ushort *out, uint n) {
  float sum = 0;
  for (uint k = 0; k < n; k++)
    sum += widen(a[k * WG + lane()]) * widen(b[k]);
  out[global_index()] = narrow(sum);
}
