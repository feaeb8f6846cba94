#include "device.h"

// LDS size as a parameter: occupancy limited by LDS.
#ifndef LDS_WORDS
#define LDS_WORDS 1024
#endif
KERNEL void local_memory(__global const uint *in, __global uint *out, uint n) {
  __local uint buffer[LDS_WORDS];
  for (uint i = lane(); i < LDS_WORDS; i += WG)
    buffer[i] = in[i];
  barrier_local();
  uint x = lane();
  for (uint k = 0; k < n; k++)
    x = buffer[x % LDS_WORDS] + k;
  out[global_index()] = x;
}
