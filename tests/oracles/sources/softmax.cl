#include "device.h"

KERNEL void softmax(__global const float *in, __global float *out, uint n) {
  __local float shared[WG];
  float high = -__builtin_inff();
  for (uint i = lane(); i < n; i += WG)
    high = __builtin_fmaxf(high, in[group() * n + i]);
  shared[lane()] = high;
  barrier_local();
  for (uint step = WG / 2; step > 0; step /= 2) {
    if (lane() < step)
      shared[lane()] = __builtin_fmaxf(shared[lane()], shared[lane() + step]);
    barrier_local();
  }
  high = shared[0];
  barrier_local();
  float sum = 0;
  for (uint i = lane(); i < n; i += WG)
    sum += __builtin_expf(in[group() * n + i] - high);
  shared[lane()] = sum;
  barrier_local();
  for (uint step = WG / 2; step > 0; step /= 2) {
    if (lane() < step)
      shared[lane()] += shared[lane() + step];
    barrier_local();
  }
  for (uint i = lane(); i < n; i += WG)
    out[group() * n + i] = __builtin_expf(in[group() * n + i] - high) / shared[0];
}
