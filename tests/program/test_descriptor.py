"""``.amdhsa_kernel`` blocks."""

from __future__ import annotations

from asmevo_gate.isa.targets import Target, find_target, parse_target
from asmevo_gate.program.descriptor import Descriptor, directive_value, parse_descriptors
from asmevo_gate.source.parser import parse_source

GFX90A = find_target("gfx90a")
BLOCK = """.amdhsa_kernel k
  .amdhsa_next_free_vgpr 24
  .amdhsa_next_free_sgpr numbered + 2
  .amdhsa_accum_offset 24
  .amdhsa_user_sgpr_count missing
.end_amdhsa_kernel
numbered = 10
"""


def descriptor(text: str, target: Target | None = GFX90A) -> Descriptor:
    (found,) = parse_descriptors(parse_source("k.s", text), target).values()
    return found


def test_values_places_and_reasons() -> None:
    found = descriptor(BLOCK)
    assert found.kernel == "k"
    assert found.values == {"next_free_vgpr": 24, "next_free_sgpr": 12, "accum_offset": 24}
    assert "missing" in found.unknown["user_sgpr_count"]
    assert found.places["next_free_sgpr"].place.line == 3
    assert found.opening is not None
    assert found.opening.place.line == 1
    assert not found.problems


def test_each_fault_of_a_block_is_a_problem_at_its_line() -> None:
    text = BLOCK.replace(".end", "  .amdhsa_next_free_vgpr 8\n  .amdhsa_speed 3\n  .amdhsa_inst_pref_size 1\n.end")
    problems = {problem.place.line: problem.message for problem in descriptor(text).problems}
    assert "line 2" in problems[6]
    assert "unknown directive" in problems[7]
    assert "gfx90a" in problems[8]
    assert descriptor(text).values["next_free_vgpr"] == 24


def test_required_directives_depend_on_the_target() -> None:
    text = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 4\n.amdhsa_next_free_sgpr 4\n.end_amdhsa_kernel\n"
    assert not descriptor(text, find_target("gfx906")).problems
    (problem,) = descriptor(text, GFX90A).problems
    assert "accum_offset" in problem.message


def test_values_out_of_range_open_blocks_and_second_blocks_are_problems() -> None:
    open_block = descriptor(".amdhsa_kernel k\n.amdhsa_next_free_vgpr 4\n", None)
    assert "end_amdhsa_kernel" in open_block.problems[0].message
    wide = descriptor(".amdhsa_kernel k\n.amdhsa_system_vgpr_workitem_id 4\n.end_amdhsa_kernel\n", None)
    assert "0..3" in wide.problems[0].message
    twice = descriptor(BLOCK + BLOCK.replace("24", "32"))
    assert twice.values["next_free_vgpr"] == 24
    assert "second" in twice.problems[0].message


def test_defaults_come_from_the_target() -> None:
    found = descriptor(BLOCK)
    assert directive_value(found, "reserve_vcc", GFX90A) == 1
    assert directive_value(found, "reserve_xnack_mask", GFX90A) == 1
    assert directive_value(found, "reserve_xnack_mask", parse_target("gfx90a:xnack-")) == 0
    assert directive_value(found, "workgroup_processor_mode", GFX90A) is None
    assert directive_value(found, "workgroup_processor_mode", find_target("gfx1100")) == 1
    assert directive_value(found, "wavefront_size32", find_target("gfx1100")) == 1
    assert directive_value(found, "user_sgpr_count", GFX90A) is None
    assert directive_value(found, "float_denorm_mode_16_64", GFX90A) == 3
