#include "device.h"

__attribute__((noinline)) float leaf(float x, float y) { return x * y + 1.0f; }
__attribute__((noinline)) float middle(float x, __global const float *table, uint n) {
  float sum = 0;
  for (uint i = 0; i < n; i++)
    sum += leaf(table[i], x);
  return sum;
}
KERNEL void calls(__global const float *table, __global float *out, uint n) {
  out[global_index()] = middle((float)lane(), table, n) + leaf(out[0], 2.0f);
}
