#include "device.h"

__attribute__((noinline)) uint descend(__global const uint *tree, uint node, uint depth) {
  if (depth == 0 || node == 0)
    return node;
  return descend(tree, tree[node * 2], depth - 1) + descend(tree, tree[node * 2 + 1], depth - 1);
}
KERNEL void recursion(__global const uint *tree, __global uint *out, uint depth) {
  out[global_index()] = descend(tree, lane(), depth);
}
