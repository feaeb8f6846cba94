#include "device.h"

KERNEL void long_mix(__global const long *a, __global long *out, long scale, uint shift) {
  long x = a[global_index()];
  ulong y = (ulong)x * 0x9E3779B97F4A7C15ul;
  y ^= y >> (shift & 63);
  x = (x * scale) / ((long)(y & 0xffff) + 1) + (x % (scale | 1));
  out[global_index()] = x < 0 ? x >> 3 : (long)y;
}
