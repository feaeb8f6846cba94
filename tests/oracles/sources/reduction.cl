#include "device.h"

// Sum of a work-group: lane exchange inside the wavefront, LDS between wavefronts.
KERNEL void reduction(__global const float *in, __global float *out, uint n) {
  __local float partial[WG / 32];
  float sum = 0;
  for (uint i = global_index(); i < n; i += WG * 16)
    sum += in[i];
  for (int step = 1; step < 32; step *= 2) {
    int other = __builtin_amdgcn_ds_bpermute(((int)lane() ^ step) * 4, (int)as_uint(sum));
    sum += as_float(other);
  }
  if (lane() % 32 == 0)
    partial[lane() / 32] = sum;
  barrier_local();
  if (lane() == 0) {
    float total = 0;
    for (int i = 0; i < WG / 32; i++)
      total += partial[i];
    out[group()] = total;
  }
}
