#include "device.h"

KERNEL void saxpy(__global const float4 *x, __global float4 *y, float alpha, uint n) {
  for (uint i = global_index(); i < n; i += WG * 64)
    y[i] = alpha * x[i] + y[i];
}
