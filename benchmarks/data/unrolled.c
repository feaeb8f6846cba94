// One loop body, unrolled until a compiler makes some 50,000 instructions of it: loads, LDS, arithmetic and branches.
// -DBODIES=N says how often.
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))

__attribute__((amdgpu_kernel)) void unrolled(GLOBAL float *restrict a, GLOBAL float *restrict b, GLOBAL float *c,
                                             LDS float *shared, int n) {
  int i = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
#pragma clang loop unroll(disable)
  for (int k = 0; k < n; k++) {
#pragma clang loop unroll(full)
    for (int j = 0; j < BODIES; j++) {
      float x = a[i * 3 + j * 17 + k * 5], y = b[i + j * 29 * k];
      shared[(i + j * 7) & 4095] = x * y + (float)j * 0.37f;
      if (j % 16 == 5 && x > y)
        c[i * 7 + j] = x / (y + j);
      c[i + j * 64] = shared[(i * 5 + j) & 4095] * x + c[i + j * 65] * (float)(j * k);
    }
  }
}
