#include "device.h"

KERNEL void bit_tricks(__global const uint *a, __global const ulong *b, __global uint *out) {
  uint i = global_index(), x = a[i];
  x = __builtin_bitreverse32(x) ^ (uint)__builtin_popcount(x) ^ (x << 13 | x >> 19);
  x += x ? (uint)__builtin_clz(x) + (uint)__builtin_ctz(x) : 64;
  x = (x & 0x00ff00ff) << 8 | ((x >> 8) & 0x00ff00ff);
  x ^= (uint)__builtin_popcountl(b[i]) + __builtin_amdgcn_ubfe(x, 5, 7) + __builtin_amdgcn_alignbit(x, a[i], 9);
  out[i] = __builtin_amdgcn_perm(x, a[i], 0x03020100u ^ x);
}
