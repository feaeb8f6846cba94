#include "device.h"

__kernel __attribute__((reqd_work_group_size(8, 4, 2))) OCCUPANCY void work_item_ids(__global uint *out) {
  uint x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
  uint gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(), gz = __builtin_amdgcn_workgroup_id_z();
  out[((gz * 7 + gy) * 7 + gx) * 64 + (z * 4 + y) * 8 + x] = x + y * 3 + z * 5 + __builtin_amdgcn_workgroup_size_x();
}
