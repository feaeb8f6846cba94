#include "device.h"

KERNEL void scratch_array(__global const uint *order, __global float *out, uint n) {
  float stack[SIZE * 4];
  for (uint i = 0; i < SIZE * 4; i++)
    stack[i] = (float)i * 1.5f;
  for (uint i = 0; i < n; i++)
    stack[order[i] % (SIZE * 4)] += stack[order[i + 1] % (SIZE * 4)];
  out[global_index()] = stack[lane() % (SIZE * 4)];
}
