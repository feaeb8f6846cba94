#include "device.h"

KERNEL void divergent_loop(__global const uint *start, __global uint *out, uint limit) {
  uint x = start[global_index()], steps = 0;
  while (x != 1 && steps < limit) {
    if (x % 2)
      x = 3 * x + 1;
    else
      x /= 2;
    if (x > 0x40000000)
      break;
    for (uint k = 0; k < (x & 3); k++)
      if (start[k] == x)
        steps += 10;
    steps++;
  }
  out[global_index()] = steps;
}
