#include "device.h"

KERNEL void fft_butterfly(__global float2 *data, __global const float2 *twiddle) {
  __local float2 buffer[WG * 2];
  uint t = lane();
  buffer[t] = data[group() * WG * 2 + t];
  buffer[t + WG] = data[group() * WG * 2 + t + WG];
  for (uint half_size = 1; half_size < WG * 2; half_size *= 2) {
    barrier_local();
    uint j = t & (half_size - 1);
    uint i = ((t - j) << 1) + j;
    float2 w = twiddle[half_size + j], a = buffer[i], b = buffer[i + half_size];
    float2 p = {b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x};
    buffer[i] = a + p;
    buffer[i + half_size] = a - p;
  }
  barrier_local();
  data[group() * WG * 2 + t] = buffer[t];
  data[group() * WG * 2 + t + WG] = buffer[t + WG];
}
