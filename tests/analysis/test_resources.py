"""Registers, LDS and scratch of kernels written for the purpose."""

from __future__ import annotations

from asmevo_gate.analysis.initial_state import initial_registers, initial_state
from asmevo_gate.analysis.resources import Resources, kernel_resources
from asmevo_gate.isa.registers import EXEC, SGPR, TTMP, VCC, bits
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

BODY = "k:\n  v_mov_b32 v9, s17\n  s_endpgm\n"
METADATA = """.amdgpu_metadata
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .max_flat_workgroup_size: 256
.end_amdgpu_metadata
"""


def kernel(gpu: str, directives: str, body: str = BODY, metadata: str = METADATA) -> Function:
    lines = "".join(f"  .amdhsa_{line}\n" for line in directives.split(";") if line)
    text = f"{body}.amdhsa_kernel k\n{lines}.end_amdhsa_kernel\n{metadata}"
    (found,) = build_program(parse_source("k.s", text), find_target(gpu)).kernels
    return found


def resources(gpu: str, directives: str, body: str = BODY, metadata: str = METADATA) -> Resources:
    return kernel_resources(kernel(gpu, directives, body, metadata))


def test_allocation_is_rounded_to_the_granules() -> None:
    found = resources("gfx906", "next_free_vgpr 10;next_free_sgpr 18")
    assert (found.used.vgprs, found.used.sgprs) == (10, 18)
    assert (found.vgpr_declared, found.vgpr_allocated) == (10, 12)
    # 18 numbered, VCC, XNACK_MASK and FLAT_SCRATCH: 24, in units of 16.
    assert (found.sgpr_declared, found.sgpr_allocated) == (24, 32)
    assert found.agpr_allocated == 0
    assert found.occupancy_waves_per_simd == 10


def test_a_unified_file_is_split_at_the_accumulator_offset() -> None:
    found = resources("gfx90a", "next_free_vgpr 100;next_free_sgpr 18;accum_offset 64")
    assert (found.vgpr_declared, found.agpr_declared, found.vgpr_total) == (64, 36, 100)
    assert (found.vgpr_allocated, found.agpr_allocated) == (64, 40)
    assert found.occupancy_waves_per_simd == 4


def test_two_files_are_counted_once() -> None:
    found = resources("gfx908", "next_free_vgpr 100;next_free_sgpr 18")
    assert (found.vgpr_allocated, found.agpr_allocated) == (100, 100)
    assert found.occupancy_waves_per_simd == 2


def test_gfx10_and_later_allocate_all_sgprs() -> None:
    found = resources("gfx1100", "next_free_vgpr 10;next_free_sgpr 18;wavefront_size32 0")
    assert found.wave_size == 64
    assert found.vgpr_allocated == 12
    assert (found.sgpr_declared, found.sgpr_allocated) == (20, 128)


def test_lds_scratch_and_work_group() -> None:
    found = resources("gfx942", "next_free_vgpr 8;next_free_sgpr 8;accum_offset 8;group_segment_fixed_size 40000;"
                      "private_segment_fixed_size 16")  # fmt: skip
    assert (found.lds_bytes, found.scratch_bytes) == (40000, 16)
    assert (found.work_group, found.waves_per_work_group) == ((1, 256), 4)
    assert found.occupancy is not None
    assert found.occupancy.limited_by == ("lds",)


def test_a_required_work_group_size_wins_over_the_greatest() -> None:
    metadata = METADATA.replace(".max_flat", ".reqd_workgroup_size: [8, 4, 2]\n    .max_flat")
    assert resources("gfx1100", "next_free_vgpr 8;next_free_sgpr 8", metadata=metadata).work_group == (64, 64)


def test_what_is_not_known_stays_none_and_says_why() -> None:
    found = resources("gfx906", "next_free_vgpr nowhere;next_free_sgpr 8")
    assert found.vgpr_allocated is None
    assert found.occupancy is None
    assert any("nowhere" in note for note in found.notes)
    no_metadata = resources("gfx906", "next_free_vgpr 4;next_free_sgpr 8", metadata="")
    assert no_metadata.work_group is None
    assert no_metadata.occupancy_waves_per_simd == 10


def test_usage_is_a_lower_bound_where_code_is_not_understood() -> None:
    assert resources("gfx906", "next_free_vgpr 10;next_free_sgpr 18").used.complete
    body = "k:\n  v_mov_b32 v9, s17\n  v_frobnicate v77\n  s_endpgm\n"
    used = resources("gfx906", "next_free_vgpr 10;next_free_sgpr 18", body).used
    assert not used.complete
    assert "v_frobnicate" in used.reasons[0]
    many = "k:\n" + "".join(f"  v_frobnicate v{number}\n" for number in range(100)) + "  s_endpgm\n"
    reasons = resources("gfx906", "next_free_vgpr 10;next_free_sgpr 18", many).used.reasons
    assert len(reasons) == 9
    assert "92 more" in reasons[-1]
    calls = "k:\n  s_swappc_b64 s[30:31], s[4:5]\n  s_endpgm\n"
    assert not resources("gfx906", "next_free_vgpr 10;next_free_sgpr 18", calls).used.complete


def test_user_sgprs_are_packed_in_order_then_work_group_ids() -> None:
    found = initial_state(
        kernel("gfx906", "next_free_vgpr 4;next_free_sgpr 8;user_sgpr_private_segment_buffer 1;"
               "user_sgpr_kernarg_segment_ptr 1;system_sgpr_workgroup_id_y 1;system_vgpr_workitem_id 1;"
               "private_segment_fixed_size 16")
    )  # fmt: skip
    assert found.complete
    assert found.known & SGPR.mask == bits(SGPR.start, 8)
    assert found.names[SGPR.start + 4] == "kernarg segment address"
    assert found.names[SGPR.start + 6] == "work-group id x"
    assert found.known & 0xF == 0b11
    assert found.known & EXEC == EXEC
    assert not found.known & VCC


def test_a_declared_user_sgpr_count_moves_the_work_group_id() -> None:
    found = initial_state(kernel("gfx1100", "next_free_vgpr 4;next_free_sgpr 16;user_sgpr_count 15;"
                                 "user_sgpr_kernarg_segment_ptr 1"))  # fmt: skip
    assert found.names[SGPR.start + 15] == "work-group id x"
    assert found.known & 0xF == 1


def test_gfx12_has_work_group_ids_in_trap_registers() -> None:
    found = initial_state(kernel("gfx1200", "next_free_vgpr 4;next_free_sgpr 8;user_sgpr_kernarg_segment_ptr 1"))
    assert found.known & SGPR.mask == bits(SGPR.start, 2)
    assert found.names[TTMP.start + 9] == "work-group id x"


def test_preloaded_arguments_are_initial_registers() -> None:
    found = initial_state(kernel("gfx942", "next_free_vgpr 4;next_free_sgpr 8;accum_offset 4;"
                                 "user_sgpr_kernarg_segment_ptr 1;user_sgpr_kernarg_preload_length 4"))  # fmt: skip
    assert found.known & SGPR.mask == bits(SGPR.start, 7)
    assert found.names[SGPR.start + 2] == "preloaded kernel arguments"


def test_an_open_descriptor_initialises_everything_that_may_be() -> None:
    unclear = kernel("gfx906", "next_free_vgpr 4;next_free_sgpr 8;user_sgpr_kernarg_segment_ptr nowhere")
    assert not initial_state(unclear).complete
    assert initial_registers(unclear) & SGPR.mask == SGPR.mask
