"""A whole function: blocks, loops, ways."""

from __future__ import annotations

import json

import msgspec
import pytest

from asmevo_gate.cost.interval import Interval, low_of
from asmevo_gate.cost.kernel import KernelCost, kernel_cost, program_costs
from asmevo_gate.cost.summary import cost_document, cost_lines
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from tests.cost.programs import cost, function

STRAIGHT = """
kernel:
  s_mov_b32 s0, 0
loop:
  v_add_f32_e32 v0, v0, v1
  s_add_u32 s0, s0, 1
  s_cmp_lt_u32 s0, s1
  s_cbranch_scc1 loop
  s_endpgm
"""

NESTED = """
kernel:
  s_mov_b32 s0, 0
outer:
  s_mov_b32 s2, 0
inner:
  v_exp_f32_e32 v0, v1
  s_add_u32 s2, s2, 1
  s_cmp_lt_u32 s2, s3
  s_cbranch_scc1 inner
  s_add_u32 s0, s0, 1
  s_cmp_lt_u32 s0, s1
  s_cbranch_scc1 outer
  s_endpgm
"""

PARTING = """
kernel:
  s_cmp_eq_u32 s0, 0
  s_cbranch_scc1 short
  v_exp_f32_e32 v0, v1
  v_exp_f32_e32 v2, v3
  s_branch end
short:
  v_mov_b32_e32 v0, v1
end:
  s_endpgm
"""

TWO_BLOCKS = """
kernel:
  s_mov_b32 s0, 0
loop:
  global_load_dword v0, v[2:3], off
  s_cbranch_execz finish
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v1, v0, v1
  s_branch loop
finish:
  s_endpgm
"""


def of(text: str, target: str = "gfx942", waves: int = 1) -> KernelCost:
    return kernel_cost(function(target, text), waves)


def test_a_loop_of_one_block_has_the_cost_of_its_steady_state() -> None:
    found = of(STRAIGHT)
    (loop,) = found.loops
    body = "v_add_f32_e32 v0, v0, v1\ns_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, s1\ns_cbranch_scc1 loop"
    assert loop.cycles == cost("gfx942", body).cycles == 4 + 4 + 4 + 20
    assert (loop.label, loop.depth, loop.exact, loop.instructions) == ("loop", 1, True, 4)
    assert (loop.line, loop.end_line) == (5, 8)
    assert found.blocks[1].cost.loop
    assert [block.loop_depth for block in found.blocks] == [0, 1, 0]


def test_the_longest_way_counts_each_loop_once() -> None:
    found = of(STRAIGHT)
    assert found.cycles == 4 + 32 + 4
    assert found.instructions == 6
    assert found.limited_by.startswith("loop at line 5: ")


def test_loops_nest() -> None:
    found = of(NESTED)
    outer, inner = found.loops
    assert (outer.label, outer.depth, outer.parent) == ("outer", 1, None)
    assert (inner.label, inner.depth, inner.parent) == ("inner", 2, 0)
    assert inner.cycles == 4 + 4 + 4 + 20
    assert not outer.exact
    assert outer.cycles == 4 + 32 + (4 + 4 + 4) + 16
    assert found.hot_loop == inner


def test_ways_that_part_give_longest_and_shortest() -> None:
    found = of(PARTING)
    long_way = (4 + 4) + (4 + 16 + 20) + 4
    assert found.cycles == long_way
    assert found.loops == ()
    assert found.limited_by.startswith("block at line 5: ")


def test_a_loop_with_two_ways_names_the_shorter_one_too() -> None:
    text = PARTING.replace("end:\n  s_endpgm", "end:\n  s_cmp_eq_u32 s3, 0\n  s_cbranch_scc1 kernel\n  s_endpgm")
    (loop,) = of(text).loops
    assert not loop.exact
    assert loop.cycles == 8 + 40 + 8 + 16
    assert loop.shortest == (8 + 16) + 4 + 8 + 16


def test_a_loop_over_several_blocks_is_simulated_as_one_body() -> None:
    found = of(TWO_BLOCKS)
    (loop,) = found.loops
    assert loop.exact
    assert isinstance(loop.cycles, Interval)
    assert loop.cycles.low == 96 + 4 + 4 + 20
    assert loop.instructions == 5


def test_what_an_earlier_block_loaded_may_still_be_open() -> None:
    found = of(TWO_BLOCKS)
    waiting = next(block for block in found.blocks if block.line == 7)
    assert isinstance(waiting.cost.cycles, Interval)
    assert waiting.cost.cycles.high > 1000


def test_a_wait_closes_what_was_open() -> None:
    text = "kernel:\n global_load_dword v0, v[2:3], off\n s_waitcnt vmcnt(0)\nnext:\n s_waitcnt vmcnt(0)\n s_endpgm\n"
    assert of(text).blocks[1].cost.cycles == 8


def test_more_waves_use_the_idle_time_of_the_others() -> None:
    one, four = of(NESTED, waves=1), of(NESTED, waves=4)
    assert low_of(four.cycles) < 4 * low_of(one.cycles)
    assert low_of(four.ipc) > low_of(one.ipc)


def test_blocks_that_no_way_reaches_are_named() -> None:
    text = "kernel:\n s_endpgm\ndead:\n v_mov_b32_e32 v0, v1\n s_endpgm\n"
    found = of(text)
    assert found.unreached == (1,)
    assert found.cycles == 4


def test_an_instruction_without_meaning_is_named() -> None:
    assert of("kernel:\n v_no_such_thing v0\n s_endpgm\n").not_modelled == ("v_no_such_thing v0",)


def test_control_flow_without_a_loop_header_is_still_summed_up() -> None:
    text = """
kernel:
  s_cbranch_scc0 second
first:
  v_mov_b32_e32 v0, v1
  s_cbranch_scc1 second
  s_endpgm
second:
  v_mov_b32_e32 v2, v3
  s_branch first
"""
    found = of(text)
    assert found.loops == ()
    assert low_of(found.cycles) > 0


def test_wave64_of_rdna_takes_two_passes() -> None:
    text = "kernel:\n v_add_f32_e32 v0, v2, v1\n v_add_f32_e32 v3, v2, v1\n s_endpgm\n"
    costs = [kernel_cost(function("gfx1100", text, size)).cycles for size in (32, 64)]
    assert costs == [3, 5]


def test_json_has_one_entry_a_kernel_block_and_loop() -> None:
    document = json.loads(json.dumps(cost_document([of(TWO_BLOCKS, waves=2)], timeline=True)))
    assert document["schema"] == "asmevo-gate/cost/1"
    (kernel,) = document["kernels"]
    assert kernel["gpu"] == "gfx942"
    assert kernel["occupancy_waves_per_simd"] == 2
    assert set(kernel["cycles"]) == {"low", "high"}
    (loop,) = kernel["loops"]
    assert loop["cycles_per_iteration"]["low"] < loop["cycles_per_iteration"]["high"]
    block = kernel["blocks"][1]
    wanted = {"label", "line", "end_line", "instructions", "loop_depth", "cycles", "ipc", "limited_by"}
    assert wanted <= set(block)
    assert next(entry["text"] for entry in block["timeline"]) == "global_load_dword v0, v[2:3], off"
    assert "timeline" not in cost_document([of(TWO_BLOCKS)])["kernels"][0]["blocks"][0]


def test_lines_for_people_name_loops_and_what_is_assumed() -> None:
    lines = list(cost_lines(of(NESTED + "\n  s_barrier\n")))
    assert lines[0] == "kernel (gfx942, wave64, 1 wave a SIMD)"
    assert any(line.startswith("    loop inner (lines 7-10): 32 clk an iteration") for line in lines)


DESCRIBED = """
kernel:
  v_mov_b32_e32 v0, v1
  s_endpgm
.rodata
.amdhsa_kernel kernel
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 128
.end_amdhsa_kernel
"""


def test_the_descriptor_decides_the_waves() -> None:
    assert kernel_cost(function("gfx942", DESCRIBED)).waves == 4


def test_without_a_descriptor_one_wave_is_assumed_and_said() -> None:
    found = kernel_cost(function("gfx942", STRAIGHT))
    assert found.waves == 1
    assert found.assumptions[0] == "occupancy is not known; taken as one wave a SIMD"
    assert of(STRAIGHT).assumptions == ()


def test_a_borrowed_fingerprint_is_named() -> None:
    assert of(STRAIGHT, "gfx1101").assumptions == ("timing of gfx1100 stands in for gfx1101",)


def test_a_function_without_instructions_costs_nothing() -> None:
    empty = msgspec.structs.replace(function("gfx942", STRAIGHT), instructions=(), blocks=(), labels={})
    found = kernel_cost(empty, 4)
    assert (found.cycles, found.instructions, found.blocks, found.limited_by) == (0, 0, (), "nothing: no instruction")


def test_every_function_of_a_file_has_a_cost() -> None:
    source = parse_source(
        "two.s",
        STRAIGHT + DESCRIBED.replace("kernel:", "other:").replace("kernel kernel", "kernel other"),
        SourceOptions(),
    )
    names = [cost.name for cost in program_costs(build_program(source, find_target("gfx942")))]
    assert names == ["kernel", "other"]


@pytest.mark.parametrize("target", ["gfx900", "gfx90a", "gfx942", "gfx950"])
def test_every_gcn_target_gives_a_figure(target: str) -> None:
    assert low_of(of(NESTED, target).cycles) > 0


@pytest.mark.parametrize("target", ["gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx1250"])
def test_every_rdna_target_gives_a_figure(target: str) -> None:
    assert low_of(of(NESTED, target).cycles) > 0
