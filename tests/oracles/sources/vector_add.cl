#include "device.h"

KERNEL void vector_add(__global const float *a, __global const float *b, __global float *c, uint n) {
  uint i = global_index();
  if (i < n)
    c[i] = a[i] + b[i];
}
