// cpu: gfx90a
/*
 * A generator of a single-precision GEMM main loop on matrix cores, as hand-written kernels are built:
 * register allocation by symbols, data movement and arithmetic as macros, the loop unrolled by repetition,
 * software pipelining by conditionals. C (M x N) += A (M x K) * B (K x N), one work-group of 256 work-items.
 */

.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"

//------------------------------------------------------------------------------------------------------------
// Parameters of the tile. A build may define others.
//------------------------------------------------------------------------------------------------------------
.ifndef TILE_M
TILE_M = 128
.endif
.ifndef TILE_N
TILE_N = 128
.endif
.ifndef TILE_K
.set TILE_K, 16
.endif
.ifndef UNROLL
UNROLL = 2
.endif

ELEMENT_BYTES   = 4
WORK_ITEMS      = 256
WAVE            = 64
WAVES           = WORK_ITEMS / WAVE
MFMA_M          = 32
MFMA_N          = 32
MFMA_K          = 2
WAVE_M          = TILE_M / 2          // two waves down
WAVE_N          = TILE_N / 2          ; two waves across
BLOCKS_M        = WAVE_M / MFMA_M
BLOCKS_N        = WAVE_N / MFMA_N
LDS_A           = 0
LDS_A_BYTES     = TILE_M * TILE_K * ELEMENT_BYTES
LDS_B           = LDS_A + LDS_A_BYTES
LDS_B_BYTES     = TILE_K * TILE_N * ELEMENT_BYTES
LDS_BUFFER      = LDS_A_BYTES + LDS_B_BYTES
LDS_BYTES       = LDS_BUFFER * 2
LOADS_A         = LDS_A_BYTES / (WORK_ITEMS * 16)
LOADS_B         = LDS_B_BYTES / (WORK_ITEMS * 16)

.if (WAVES != 4) || (TILE_M % (2 * MFMA_M)) || (TILE_N % (2 * MFMA_N))
.error "the tile does not divide into four waves of 32x32 blocks"
.endif
.if LDS_BYTES > 65536
.error "the tile needs more than 64 KiB of LDS"
.endif

//------------------------------------------------------------------------------------------------------------
// Register allocation: names are handed out in order, aligned to even registers where a tuple starts.
//------------------------------------------------------------------------------------------------------------
.macro vgpr name, count=1, align=1
 next_vgpr = (next_vgpr + \align - 1) / \align * \align
 .set v_\name, next_vgpr
 .set next_vgpr, next_vgpr + \count
.endm

.macro sgpr name:req, count=1, align=1
 next_sgpr = (next_sgpr + \align - 1) / \align * \align
 .set s_\name, next_sgpr
 .set next_sgpr, next_sgpr + \count
.endm

.macro agpr name:req, count:req
 .set a_\name, next_agpr
 next_agpr = next_agpr + \count
.endm

next_vgpr = 1                          // v0 is the work-item id
next_sgpr = 8
next_agpr = 0

vgpr tid
vgpr lane
vgpr wave
vgpr a_offset
vgpr b_offset
vgpr lds_write_a
vgpr lds_write_b
vgpr lds_read_a
vgpr lds_read_b
vgpr tmp, 4, 2
vgpr global_a, LOADS_A * 4, 2
vgpr global_b, align=2, count=(LOADS_B * 4)
vgpr frag_a, BLOCKS_M * 2, 2
vgpr frag_b, (BLOCKS_N * 2), 2
vgpr c_offset
vgpr store, 4, 2

sgpr kernarg, 2, 2
sgpr desc_a, 4, 4
sgpr desc_b, 4, 4
sgpr desc_c, 4, 4
sgpr loop
sgpr stride_a
sgpr stride_b
sgpr stride_c
sgpr lds_toggle
sgpr mask, 2, align=2

agpr acc, (BLOCKS_M * BLOCKS_N * 16)

//------------------------------------------------------------------------------------------------------------
// Small tools
//------------------------------------------------------------------------------------------------------------
.macro wait vm=-1, lgkm=-1
 .if (\vm >= 0) && (\lgkm >= 0)
  s_waitcnt vmcnt(\vm) & lgkmcnt(\lgkm)
 .elseif \vm >= 0
  s_waitcnt vmcnt(\vm)
 .elseif \lgkm >= 0
  s_waitcnt lgkmcnt(\lgkm)
 .else
  .error "wait for nothing"
 .endif
.endm

.macro mul_const dst, src, factor
 // powers of two become shifts
 .if (\factor) == 1
  v_mov_b32 v[\dst], v[\src]
 .elseif ((\factor) & ((\factor) - 1)) == 0
  log2 shift, (\factor)
  v_lshlrev_b32 v[\dst], shift, v[\src]
 .else
  v_mul_lo_u32 v[\dst], v[\src], \factor
 .endif
.endm

.macro log2 result, value, step=0
 .if (\value) >> (\step) <= 1
  .set \result, \step
 .else
  log2 \result, \value, (\step + 1)
 .endif
.endm

.macro zero_acc first, count
 i = 0
 .rept \count
  v_accvgpr_write_b32 a[\first+i], 0
  i = i + 1
 .endr
.endm

.macro barrier
 s_waitcnt lgkmcnt(0)
 s_barrier
.endm

.macro each op:req, first, rest:vararg
 \op \first
 .ifnb \rest
  each \op, \rest
 .endif
.endm

//------------------------------------------------------------------------------------------------------------
// Global memory -> registers
//------------------------------------------------------------------------------------------------------------
.macro load_tile which, loads
 .ifc \which, a
  tile_desc = s_desc_a
  tile_reg = v_global_a
  tile_off = v_a_offset
 .else
  .ifnc \which, b
   .error "load_tile: a or b"
  .endif
  tile_desc = s_desc_b
  tile_reg = v_global_b
  tile_off = v_b_offset
 .endif
 n = 0
 .rept \loads
  buffer_load_dwordx4 v[tile_reg+n*4:tile_reg+n*4+3], v[tile_off], s[tile_desc:tile_desc+3], 0 offen offset:n*16
  n = n + 1
 .endr
.endm

.macro advance which
 s_add_u32 s[s_desc_\which], s[s_desc_\which], s[s_stride_\which]
 s_addc_u32 s[s_desc_\which+1], s[s_desc_\which+1], 0
.endm

//------------------------------------------------------------------------------------------------------------
// Registers -> LDS, LDS -> fragments
//------------------------------------------------------------------------------------------------------------
.macro write_tile which, loads, base
 n = 0
 .rept \loads
  ds_write_b128 v[v_lds_write_\which], v[v_global_\which+n*4:v_global_\which+n*4+3] offset:\base+n*16*16
  n = n + 1
 .endr
.endm

.macro read_fragment which, block, k, base
 step = (\k) * MFMA_K
 .ifc \which, a
  ds_read_b64 v[v_frag_a+(\block)*2:v_frag_a+(\block)*2+1], v[v_lds_read_a] offset:(\base)+(\block)*MFMA_M*ELEMENT_BYTES*2+step*8
 .else
  ds_read_b64 v[v_frag_b+(\block)*2:v_frag_b+(\block)*2+1], v[v_lds_read_b] offset:LDS_B+(\base)+(\block)*MFMA_N*ELEMENT_BYTES*2+step*8
 .endif
.endm

.macro read_fragments k, base
 m = 0
 .rept BLOCKS_M
  read_fragment a, m, (\k), (\base)
  m = m + 1
 .endr
 m = 0
 .rept BLOCKS_N
  read_fragment b, m, (\k), (\base)
  m = m + 1
 .endr
.endm

//------------------------------------------------------------------------------------------------------------
// Arithmetic: all blocks of one k step
//------------------------------------------------------------------------------------------------------------
.macro mfma_block m, n, half
 block = ((\m) * BLOCKS_N + (\n)) * 16
 .if BLOCKS_M * BLOCKS_N * 16 > 256
  .error "too many accumulators"
 .endif
 v_mfma_f32_32x32x2f32 a[a_acc+block:a_acc+block+15], v[v_frag_a+(\m)*2+\half], v[v_frag_b+(\n)*2+\half], a[a_acc+block:a_acc+block+15]
.endm

.macro mfma_all
 .irp half, 0, 1
  row = 0
  .rept BLOCKS_M
   col = 0
   .rept BLOCKS_N
    mfma_block row, col, \half
    col = col + 1
   .endr
   row = row + 1
  .endr
 .endr
.endm

/* One tile of K. `last` leaves out the prefetch of the next one. */
.macro tile buffer, last=0
 base = (\buffer) * LDS_BUFFER
 next_base = (1 - (\buffer)) * LDS_BUFFER
 .if !\last
  load_tile a, LOADS_A
  load_tile b, LOADS_B
  advance a
  advance b
 .endif
 k_step = 0
 .rept TILE_K / MFMA_K / 2
  read_fragments k_step, base
  s_waitcnt lgkmcnt(0)
  .if k_step == 0
   s_setprio 1
  .endif
  mfma_all
  k_step = k_step + 1
 .endr
 s_setprio 0
 .if !\last
  wait vm=LOADS_B
  write_tile a, LOADS_A, next_base
  wait vm=0
  write_tile b, LOADS_B, LDS_B+next_base
  barrier
 .endif
.endm

//------------------------------------------------------------------------------------------------------------
// Results
//------------------------------------------------------------------------------------------------------------
.macro store_group first, offset
 .irpc j, 0123
  v_accvgpr_read_b32 v[v_store+\j], a[\first+\j]
 .endr
 s_nop 1
 buffer_store_dwordx4 v[v_store:v_store+3], v[v_c_offset], s[s_desc_c:s_desc_c+3], 0 offen offset:\offset
.endm

.macro store_block m, n
 g = 0
 .rept 4
  store_group a_acc+((\m)*BLOCKS_N+(\n))*16+g*4, g*32+(\n)*128
  g = g + 1
 .endr
 .if (\n) == BLOCKS_N - 1
  v_add_u32 v[v_c_offset], v[v_c_offset], s[s_stride_c]
 .endif
.endm

.macro copy_kernarg dst, offset
 s_load_dwordx4 s[\dst:\dst+3], s[s_kernarg:s_kernarg+1], \offset
.endm

//------------------------------------------------------------------------------------------------------------
// The kernel
//------------------------------------------------------------------------------------------------------------
.text
.globl gemm
.p2align 8
.type gemm,@function
gemm:
 s_mov_b64 s[s_kernarg:s_kernarg+1], s[4:5]
 copy_kernarg s_desc_a, 0x00
 copy_kernarg s_desc_b, 0x10
 copy_kernarg s_desc_c, 0x20
 .irp name, loop, stride_a, stride_b, stride_c
  s_load_dword s[s_\name], s[s_kernarg:s_kernarg+1], 0x30+4*\+
 .endr
 v_mov_b32 v[v_tid], v0
 v_and_b32 v[v_lane], WAVE-1, v[v_tid]
 v_lshrrev_b32 v[v_wave], 6, v[v_tid]

 mul_const v_a_offset, v_tid, 16
 mul_const v_b_offset, v_tid, LOADS_B*16
 mul_const v_tmp, v_wave, 12
 mul_const v_tmp+1, v_lane, 1
 v_lshlrev_b32 v[v_lds_write_a], 4, v[v_tid]
 v_add_u32 v[v_lds_write_b], v[v_tmp], v[v_lds_write_a]
 v_lshlrev_b32 v[v_lds_read_a], 3, v[v_lane]
 v_lshl_add_u32 v[v_lds_read_b], v[v_wave], 8, v[v_lds_read_a]
 v_mul_u32_u24 v[v_c_offset], WAVE_M*ELEMENT_BYTES, v[v_wave]
 s_mov_b32 s[s_lds_toggle], LDS_BUFFER
 s_mov_b64 s[s_mask:s_mask+1], exec

 zero_acc a_acc, BLOCKS_M*BLOCKS_N*16
 wait lgkm=0

 // prologue: first tile into LDS
 load_tile a, LOADS_A
 load_tile b, LOADS_B
 advance a
 advance b
 wait vm=0
 write_tile a, LOADS_A, 0
 write_tile b, LOADS_B, LDS_B
 barrier

 s_sub_u32 s[s_loop], s[s_loop], 1
 s_cmp_eq_u32 s[s_loop], 0
 s_cbranch_scc1 2f
1:
 u = 0
 .rept UNROLL
  tile (u & 1)
  .if u < UNROLL - 1
   s_sub_u32 s[s_loop], s[s_loop], 1
   s_cmp_eq_u32 s[s_loop], 0
   s_cbranch_scc1 2f
  .endif
  u = u + 1
 .endr
 s_sub_u32 s[s_loop], s[s_loop], 1
 s_cmp_lg_u32 s[s_loop], 0
 s_cbranch_scc1 1b
2:
 tile 0, last=1
 s_nop 15

 row = 0
 .rept BLOCKS_M
  col = 0
  .rept BLOCKS_N
   store_block row, col
   col = col + 1
  .endr
  row = row + 1
 .endr
 each s_nop, 0, 1, 2
 s_endpgm
.Lgemm_end:
.size gemm, .Lgemm_end-gemm

.rodata
.p2align 6
.amdhsa_kernel gemm
 .amdhsa_group_segment_fixed_size LDS_BYTES
 .amdhsa_user_sgpr_private_segment_buffer 1
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_system_vgpr_workitem_id 0
 .amdhsa_next_free_vgpr (next_vgpr + 7) / 8 * 8 + next_agpr
 .amdhsa_next_free_sgpr next_sgpr
 .amdhsa_accum_offset (next_vgpr + 7) / 8 * 8
 .amdhsa_ieee_mode 0
 .amdhsa_dx10_clamp 0
.end_amdhsa_kernel

.macro metadata name:req, arguments:vararg
.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: \name
    .symbol: \name\().kd
    .sgpr_count: 48
    .vgpr_count: 128
    .kernarg_segment_align: 8
    .kernarg_segment_size: 64
    .group_segment_fixed_size: 32768
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .reqd_workgroup_size: [ 256, 1, 1 ]
    .max_flat_workgroup_size: 256
    .args:
      - { .size: 64, .offset: 0, .value_kind: by_value, .name: \arguments }
...
.end_amdgpu_metadata
.endm
metadata gemm, block
