#include "device.h"

// Many uniform values: SGPRs.
KERNEL void scalar_pressure(__constant uint *table, __global uint *out, uint n) {
  uint s[SIZE * 8];
#pragma unroll
  for (int i = 0; i < SIZE * 8; i++)
    s[i] = table[i * 3 + n];
  uint x = lane();
  for (uint k = 0; k < n; k++)
#pragma unroll
    for (int i = 0; i < SIZE * 8; i++)
      x = (x ^ s[i]) + (x << 1);
  out[global_index()] = x;
}
