#include "device.h"

KERNEL void encode(__global const uint *in, __global uint *out) {
  out[global_index()] = in[global_index()] * 2654435761u;
}
KERNEL void decode(__global const uint *in, __global uint *out, uint key) {
  __local uint shared[WG];
  shared[lane()] = in[global_index()] ^ key;
  barrier_local();
  out[global_index()] = shared[WG - 1 - lane()];
}
