#include "device.h"

KERNEL void stencil(__global const float *in, __global float *out, uint nx, uint ny) {
  uint i = global_index() + nx * ny + nx + 1;
  float centre = in[i];
  float sum = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny];
  out[i] = centre + 0.1f * (sum - 6 * centre);
}
