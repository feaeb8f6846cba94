// Shared by the test kernels: index functions and barriers without a device library.
#ifndef WG
#define WG 256
#endif
#ifndef SIZE
#define SIZE 8
#endif
#ifdef WAVES
#define OCCUPANCY __attribute__((amdgpu_waves_per_eu(WAVES)))
#else
#define OCCUPANCY
#endif
#define KERNEL __kernel __attribute__((reqd_work_group_size(WG, 1, 1))) OCCUPANCY
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable


static inline uint lane(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint group(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint global_index(void) { return group() * WG + lane(); }
static inline void barrier_local(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
