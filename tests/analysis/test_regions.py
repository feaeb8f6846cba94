"""Slicing: what may be rewritten, and why the rest may not."""

from __future__ import annotations

from asmevo_gate.analysis.exec_mask import some_lane_active
from asmevo_gate.analysis.regions import Slices, find_regions
from asmevo_gate.isa.registers import EXEC, VGPR, bits
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source

DESCRIPTOR = """
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 32
.end_amdhsa_kernel
"""


def function_of(body: str, gpu: str = "gfx942") -> Function:
    text = ".text\nk:\n" + body + "\n  s_endpgm\n" + DESCRIPTOR
    return build_program(parse_source("k.s", text, SourceOptions()), find_target(gpu)).functions[0]


def slices(body: str) -> Slices:
    return find_regions(function_of(body))


BODY = """
  global_load_dword v1, v0, s[0:1]
  v_mov_b32 v5, 1
  s_waitcnt vmcnt(0)
  v_add_u32 v2, v1, v5
  v_mul_lo_u32 v3, v2, v2
  ds_write_b32 v0, v3
  v_add_u32 v4, v2, v3
  s_barrier
  global_store_dword v0, v4, s[0:1]
"""


def test_regions_lie_between_memory_operations() -> None:
    found = slices(BODY)
    assert [(region.first, region.end) for region in found.regions] == [(1, 5), (6, 7)]
    assert found.regions[0].timing == (2,)
    assert found.regions[0].vector_only


def test_live_registers_at_both_ends() -> None:
    region = slices(BODY).regions[0]
    assert region.live_in & bits(VGPR.start, 8) == bits(0) | bits(1)
    assert region.live_out & bits(VGPR.start, 8) == bits(0) | bits(2) | bits(3)
    assert region.live_in & EXEC


def test_every_instruction_is_in_a_region_or_excluded_with_a_reason() -> None:
    found = slices(BODY)
    inside = {index for region in found.regions for index in range(region.first, region.end)}
    outside = {one.instruction.index for one in found.excluded}
    assert inside | outside == set(range(10))
    assert not inside & outside
    reasons = {one.instruction.statement.name: one.reason for one in found.excluded}
    assert reasons["ds_write_b32"] == "LDS or GDS access"
    assert reasons["global_load_dword"] == "memory access or export"
    assert reasons["s_barrier"] == "barrier"
    assert reasons["s_endpgm"] == "branch, call or end of the wave"


def test_changes_of_exec_and_mode_end_a_region() -> None:
    found = slices(
        "  v_mov_b32 v1, v0\n  s_mov_b64 exec, -1\n  v_mov_b32 v2, v1\n  s_setreg_imm32_b32 hwreg(1, 0, 4), 3"
    )
    assert [(region.first, region.end) for region in found.regions] == [(0, 1), (2, 3)]
    assert {one.reason for one in found.excluded} >= {"changes EXEC", "message, hardware register or other effect"}


def test_gpr_index_mode_puts_the_whole_function_out_of_scope() -> None:
    function = function_of("  s_set_gpr_idx_on s0, gpr_idx(SRC0)\n  v_mov_b32 v1, v2\n  s_set_gpr_idx_off", "gfx908")
    assert find_regions(function).regions == ()


def test_an_instruction_that_is_not_understood_is_excluded_with_its_reason() -> None:
    found = slices("  v_mov_b32 v1, v0\n  v_nonsense v1, v2\n  v_mov_b32 v2, v1")
    assert [(region.first, region.end) for region in found.regions] == [(0, 1), (2, 3)]
    assert any("v_nonsense" in one.reason for one in found.excluded)


def test_where_a_lane_is_surely_active() -> None:
    function = function_of(
        "  v_cmp_lt_u32 vcc, v0, v1\n  s_and_saveexec_b64 s[2:3], vcc\n  s_cbranch_execz .L1\n  v_mov_b32 v2, v0\n"
        ".L1:\n  s_or_b64 exec, exec, s[2:3]\n  v_mov_b32 v3, v2\n  s_cbranch_scc1 .L2\n"
        "  v_mov_b32 v3, 0\n.L2:\n  v_nop"
    )
    assert some_lane_active(function) == (True, True, False, False, False)
    regions = find_regions(function).regions
    assert [region.lane_active for region in regions] == [True, True, False, False]
