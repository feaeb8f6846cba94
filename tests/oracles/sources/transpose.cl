#include "device.h"

KERNEL void transpose(__global const float *in, __global float *out, uint width) {
  __local float tile[16][17];
  uint x = lane() % 16, y = (lane() / 16) % 16;
  uint column = group() * 16, row = __builtin_amdgcn_workgroup_id_y() * 16;
  tile[y][x] = in[(row + y) * width + column + x];
  barrier_local();
  out[(column + y) * width + row + x] = tile[x][y];
}
