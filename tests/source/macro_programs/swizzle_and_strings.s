ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM, "01pi0")
ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM, 0, 1, 2, 3)
x = 1
ds_swizzle_b32 v0, v1 offset:swizzle(SWAP, x*2)
