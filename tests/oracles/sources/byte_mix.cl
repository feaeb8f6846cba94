#include "device.h"

KERNEL void byte_mix(__global const char4 *a, __global const uchar *b, __global char4 *out, __global short *wide) {
  uint i = global_index();
  char4 x = a[i];
  short s = (short)(x[0] * b[i] - x[1]);
  x[2] = (char)(s >> 3);
  x[3] = (char)(b[i + 1] > 100 ? x[0] : x[1]);
  out[i] = x;
  wide[i] = s;
}
