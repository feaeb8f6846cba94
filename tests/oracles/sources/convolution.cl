#include "device.h"

KERNEL void convolution(__global const float *in, __constant float *weights, __global float *out, int width, int height) {
  int x = (int)global_index() % width, y = (int)global_index() / width;
  float sum = 0;
  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++) {
      int xx = x + dx, yy = y + dy;
      if (xx >= 0 && xx < width && yy >= 0 && yy < height)
        sum += in[yy * width + xx] * weights[(dy + 2) * 5 + dx + 2];
    }
  out[global_index()] = sum;
}
