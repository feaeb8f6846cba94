#include "device.h"

// Row-wise sum with DPP controls that every target has.
KERNEL void dpp_reduction(__global const int *in, __global int *out) {
  int x = in[global_index()];
  x += __builtin_amdgcn_update_dpp(0, x, 0xB1, 0xF, 0xF, 0);
  x += __builtin_amdgcn_update_dpp(0, x, 0x4E, 0xF, 0xF, 0);
  x += __builtin_amdgcn_update_dpp(0, x, 0x141, 0xF, 0xF, 1);
  x += __builtin_amdgcn_update_dpp(0, x, 0x140, 0xF, 0xF, 1);
  x ^= __builtin_amdgcn_update_dpp(x, x, 0x111, 0xA, 0xF, 0);
  out[global_index()] = x;
}
