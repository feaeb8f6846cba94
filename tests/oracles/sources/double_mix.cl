#include "device.h"

KERNEL void double_mix(__global const double *a, __global double *out, uint n) {
  double x = a[global_index()], sum = 0;
  for (uint k = 1; k <= n; k++) {
    sum = __builtin_fma(x, a[k], sum);
    x = x / (double)k + __builtin_sqrt(__builtin_fabs(sum));
  }
  out[global_index()] = sum;
}
