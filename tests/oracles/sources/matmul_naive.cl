#include "device.h"

KERNEL void matmul_naive(__global const float *a, __global const float *b, __global float *c, uint n) {
  uint row = global_index() / n, column = global_index() % n;
  float sum = 0;
  for (uint k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
