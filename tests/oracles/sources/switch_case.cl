#include "device.h"

KERNEL void switch_case(__global const uint *op, __global float *data, uint uniform_op) {
  uint i = global_index();
  float x = data[i];
  switch (op[i]) {
  case 0: x = x + 1; break;
  case 1: x = x * x; break;
  case 2: x = 1 / x; break;
  case 3: x = -x; break;
  case 7: x = __builtin_sqrtf(x); break;
  case 12: data[i + 1] = x; break;
  default: x = 0;
  }
  switch (uniform_op) {
  case 0: x += 3; break;
  case 1: x -= 4; break;
  case 2: x *= 5; break;
  case 3: x = data[i + 7]; break;
  case 4: x = __builtin_fabsf(x); break;
  default: return;
  }
  data[i] = x;
}
