#include "device.h"

// SIZE x SIZE results a lane: register pressure grows with SIZE.
KERNEL void matmul_tiled(__global const float *a, __global const float *b, __global float *c, uint n) {
  __local float ta[WG], tb[WG];
  float sum[SIZE][SIZE];
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++)
      sum[i][j] = 0;
  for (uint k = 0; k < n; k += 16) {
    ta[lane()] = a[global_index() + k];
    tb[lane()] = b[global_index() + k * n];
    barrier_local();
    for (uint kk = 0; kk < 16; kk++) {
      float x[SIZE], y[SIZE];
      for (int i = 0; i < SIZE; i++) {
        x[i] = ta[(kk * SIZE + i + lane()) % WG];
        y[i] = tb[(kk * SIZE + i * 3 + lane()) % WG];
      }
#pragma unroll
      for (int i = 0; i < SIZE; i++)
#pragma unroll
        for (int j = 0; j < SIZE; j++)
          sum[i][j] += x[i] * y[j];
    }
    barrier_local();
  }
#pragma unroll
  for (int i = 0; i < SIZE; i++)
#pragma unroll
    for (int j = 0; j < SIZE; j++)
      c[global_index() * SIZE * SIZE + i * SIZE + j] = sum[i][j];
}
