"""Code objects for tests, made by the assembler of LLVM 22 from our own kernel."""

from __future__ import annotations

import shutil
import subprocess

import pytest

MC = shutil.which("llvm-mc-22")
needs_assembler = pytest.mark.skipif(MC is None, reason="llvm-mc-22 is not installed")

KERNEL = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_mov_b32_e32 v1, 0x12345678
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 done
  v_add_u32_e32 v0, 1, v1
done:
  s_endpgm
  .size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 20
  .amdhsa_next_free_sgpr 11
  .amdhsa_accum_offset 12
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_tg_split 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 15
    .vgpr_count: 20
    .agpr_count: 8
    .max_flat_workgroup_size: 256
.end_amdgpu_metadata
"""


def assembled(text: str = KERNEL, gpu: str = "gfx90a") -> bytes:
    """The relocatable object of an assembly text."""
    assert MC
    arguments = [MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", "-o", "-"]
    return subprocess.run(arguments, input=text.encode(), capture_output=True, check=True).stdout
