#include "device.h"

// More live values than a tight register budget holds.
KERNEL void spills(__global const float *in, __global float *out, uint n) {
  float x[SIZE * 12];
#pragma unroll
  for (int i = 0; i < SIZE * 12; i++)
    x[i] = in[i * WG + lane()];
  for (uint k = 0; k < n; k++) {
    float carry = x[0];
#pragma unroll
    for (int i = 0; i + 1 < SIZE * 12; i++)
      x[i] = x[i] * carry + x[i + 1];
    x[SIZE * 12 - 1] = carry * in[k];
  }
#pragma unroll
  for (int i = 0; i < SIZE * 12; i++)
    out[i * WG + lane()] = x[i];
}
