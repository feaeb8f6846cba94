#include "device.h"

KERNEL void atomics_return(__global atomic_uint *counter, __global atomic_int *low, __global uint *out, uint n) {
  uint i = global_index();
  uint slot = __opencl_atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL, 2);
  int old = __opencl_atomic_fetch_min(low + (slot & 7), (int)i, __ATOMIC_SEQ_CST, 3);
  uint expected = i;
  while (!__opencl_atomic_compare_exchange_strong(counter + 1, &expected, i + 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, 2))
    if (expected > n)
      break;
  out[slot] = (uint)old + expected;
}
