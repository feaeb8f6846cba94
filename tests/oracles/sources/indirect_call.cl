#include "device.h"

#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
__attribute__((noinline)) int twice(int x) { return x * 2; }
__attribute__((noinline)) int square(int x) { return x * x; }
typedef int (*operation)(int);
KERNEL void indirect_call(__global int *data, uint which) {
  operation f = which ? twice : square;
  data[global_index()] = f(data[global_index()]);
}
