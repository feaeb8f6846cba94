// One query a work-item against a tile of keys and values in LDS, with the running maximum and sum of
// "online softmax"; the head dimension is SIZE.
#include "device.h"

KERNEL void attention(__global const float *query, __global const float *keys, __global const float *values,
                      __global float *out, uint length, float scale) {
  __local float key_tile[32][SIZE];
  __local float value_tile[32][SIZE];
  float q[SIZE], sum[SIZE];
  const uint row = global_index();
  for (uint d = 0; d < SIZE; ++d) {
    q[d] = query[row * SIZE + d] * scale;
    sum[d] = 0;
  }
  float highest = -__builtin_inff();
  float weight = 0;
  for (uint tile = 0; tile < length; tile += 32) {
    for (uint i = lane(); i < 32 * SIZE; i += WG) {
      key_tile[i / SIZE][i % SIZE] = keys[tile * SIZE + i];
      value_tile[i / SIZE][i % SIZE] = values[tile * SIZE + i];
    }
    barrier_local();
    for (uint k = 0; k < 32; ++k) {
      float score = 0;
      for (uint d = 0; d < SIZE; ++d)
        score += q[d] * key_tile[k][d];
      const float before = highest;
      highest = __builtin_fmaxf(highest, score);
      const float shrink = __builtin_amdgcn_exp2f(before - highest);
      const float share = __builtin_amdgcn_exp2f(score - highest);
      weight = weight * shrink + share;
      for (uint d = 0; d < SIZE; ++d)
        sum[d] = sum[d] * shrink + share * value_tile[k][d];
    }
    barrier_local();
  }
  const float inverse = __builtin_amdgcn_rcpf(weight);
  for (uint d = 0; d < SIZE; ++d)
    out[row * SIZE + d] = sum[d] * inverse;
}
