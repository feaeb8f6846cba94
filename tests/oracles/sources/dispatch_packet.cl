#include "device.h"

KERNEL void dispatch_packet(__global uint *out) {
  __constant const uint *packet = (__constant const uint *)__builtin_amdgcn_dispatch_ptr();
  __constant const ulong *arguments = (__constant const ulong *)__builtin_amdgcn_implicitarg_ptr();
  out[global_index()] = packet[3] + (uint)arguments[1];
}
