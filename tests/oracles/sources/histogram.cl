#include "device.h"

KERNEL void histogram(__global const uchar *in, __global atomic_uint *bins, uint n) {
  __local atomic_uint local_bins[256];
  for (uint i = lane(); i < 256; i += WG)
    __opencl_atomic_store(&local_bins[i], 0, __ATOMIC_RELAXED, 1);
  barrier_local();
  for (uint i = global_index(); i < n; i += WG * 32)
    __opencl_atomic_fetch_add(&local_bins[in[i]], 1, __ATOMIC_RELAXED, 1);
  barrier_local();
  for (uint i = lane(); i < 256; i += WG)
    __opencl_atomic_fetch_add(&bins[i], __opencl_atomic_load(&local_bins[i], __ATOMIC_RELAXED, 1), __ATOMIC_RELAXED, 2);
}
