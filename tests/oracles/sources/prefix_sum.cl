#include "device.h"

KERNEL void prefix_sum(__global const uint *in, __global uint *out) {
  __local uint buffer[2][WG];
  uint t = lane(), side = 0;
  buffer[0][t] = in[global_index()];
  for (uint step = 1; step < WG; step *= 2) {
    barrier_local();
    buffer[1 - side][t] = buffer[side][t] + (t >= step ? buffer[side][t - step] : 0);
    side = 1 - side;
  }
  out[global_index()] = buffer[side][t];
}
