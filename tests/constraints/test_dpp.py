"""DPP legality per target, against the assembler; exact replacements of old forms."""

from __future__ import annotations

import random
import shutil
import subprocess
from itertools import product

import pytest

from asmevo_gate.constraints.dpp import DppProblem, dpp_problems
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.isa.targets import find_target, target_names
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from tests.constraints.dpp_lanes import LANES, run

_FORMS = (
    "quad_perm:[0,1,2,3]", "row_shl:1", "row_shr:15", "row_ror:1", "row_mirror", "row_half_mirror", "wave_shl:1",
    "wave_shr:1", "wave_rol:1", "wave_ror:1", "row_bcast:15", "row_bcast:31", "row_newbcast:3", "row_share:3",
    "row_xmask:3", "row_shl:16", "row_bcast:16",
)  # fmt: skip


def problems(gpu: str, line: str) -> list[DppProblem]:
    target = find_target(gpu)
    program = build_program(parse_source("k.s", f".text\nk:\n{line}\n"), target)
    return [one for function in program.functions for one in dpp_problems(function, graph_for(target))]


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")
@pytest.mark.parametrize("gpu", target_names())
def test_controls_agree_with_the_assembler(gpu: str) -> None:
    for form in _FORMS:
        line = f"v_mov_b32_dpp v0, v1 {form} row_mask:0xf bank_mask:0xf"
        command = ["llvm-mc-22", "-triple=amdgcn", f"-mcpu={gpu}"]
        accepted = subprocess.run(command, input=line, capture_output=True, text=True).returncode == 0
        assert (problems(gpu, line) == []) == accepted, (gpu, form)


@pytest.mark.parametrize(
    ("gpu", "line", "replacement"),
    [
        ("gfx942", "v_mov_b32_dpp v0, v1 row_xmask:1 row_mask:0xf bank_mask:0xf",
         ("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",)),
        ("gfx1100", "v_add_f32_dpp v0, v1, v2 row_newbcast:5 row_mask:0xf bank_mask:0xf",
         ("v_add_f32_dpp v0, v1, v2 row_share:5 row_mask:0xf bank_mask:0xf",)),
        ("gfx90a", "v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf",
         ("v_mov_b32_dpp v0, v1 row_newbcast:5 row_mask:0xf bank_mask:0xf",)),
    ],
)  # fmt: skip
def test_an_old_form_is_replaced_by_an_exact_one(gpu: str, line: str, replacement: tuple[str, ...]) -> None:
    (problem,) = problems(gpu, line)
    assert (problem.rule, problem.replacement) == ("dpp.control", replacement)
    assert problems(gpu, replacement[0]) == []


def test_a_row_broadcast_becomes_a_permlane_with_its_condition() -> None:
    (problem,) = problems("gfx1030", "v_mov_b32_dpp v4, v1 row_bcast:15 row_mask:0xa bank_mask:0xf")
    assert problem.replacement == (
        "v_permlanex16_b32 {vtmp}, v1, -1, -1",
        "v_mov_b32_dpp v4, {vtmp} quad_perm:[0,1,2,3] row_mask:0xa bank_mask:0xf",
    )
    assert "all lanes active" in problem.condition


def test_a_form_without_an_equivalent_says_so() -> None:
    for line in ("v_mov_b32_dpp v1, v1 wave_shl:1 row_mask:0xf bank_mask:0xf",
                 "v_add_f32_dpp v0, v1, v0 wave_shr:1 row_mask:0xf bank_mask:0xf",
                 "v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xf bank_mask:0xf"):  # fmt: skip
        (problem,) = problems("gfx1030", line)
        assert problem.replacement == () and "no exact equivalent" in problem.repair


_MASKS = ("row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf", "row_mask:0xc bank_mask:0xf",
          "row_mask:0xf bank_mask:0x5", "row_mask:0xf bank_mask:0xf bound_ctrl:0")  # fmt: skip
_OLD = (
    *(f"row_xmask:{n}" for n in range(16)), *(f"row_share:{n}" for n in range(16)),
    *(f"row_newbcast:{n}" for n in range(16)), "row_bcast:15", "row_bcast:31", "wave_shl:1", "wave_shr:1",
    "wave_rol:1", "wave_ror:1",
)  # fmt: skip
_LINES = ("v_mov_b32_dpp v1, v0 {}", "v_mov_b32_dpp v0, v0 {}", "v_add_f32_dpp v1, v0, v1 {}",
          "v_sub_f32_dpp v2, v0, v0 {}", "v_max_i32_dpp v0, v0, v1 {}", "v_xor_b32_dpp v1, v2, v0 {}")  # fmt: skip


def _filled(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line.replace("{vtmp}", "v9").replace("{stmp}", "s9") for line in lines)


@pytest.mark.parametrize("gpu", ["gfx906", "gfx90a", "gfx1010", "gfx1030", "gfx1100", "gfx1201"])
def test_every_replacement_leaves_the_same_in_every_lane(gpu: str) -> None:
    rng = random.Random(7)
    replaced: set[str] = set()
    for control, masks, line in product(_OLD, _MASKS, _LINES):
        text = line.format(f"{control} {masks}")
        for problem in problems(gpu, text):
            if not problem.replacement:
                continue
            replaced.add(control.split(":")[0])
            before = {name: [rng.randrange(1 << 20) for _ in range(LANES)] for name in ("v0", "v1", "v2", "v9")}
            wanted, found = run((text,), before), run(_filled(problem.replacement), before)
            assert {name: found[name] for name in ("v0", "v1", "v2")} == {
                name: wanted[name] for name in ("v0", "v1", "v2")
            }, (text, problem.replacement)
    assert replaced == set(graph_for(find_target(gpu)).dpp_replacements)


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("llvm-mc-22") is None, reason="llvm-mc-22 is not installed")
@pytest.mark.parametrize("gpu", target_names())
def test_every_replacement_assembles(gpu: str) -> None:
    lines = [
        line
        for control, masks in product(_OLD, _MASKS)
        for problem in problems(gpu, f"v_mov_b32_dpp v1, v0 {control} {masks}")
        for line in _filled(problem.replacement)
    ]
    assert lines
    command = ["llvm-mc-22", "-triple=amdgcn", f"-mcpu={gpu}"]
    assert subprocess.run(command, input="\n".join(lines), capture_output=True, text=True).returncode == 0


def test_masks_that_switch_everything_off_are_reported() -> None:
    (problem,) = problems("gfx906", "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0x0 bank_mask:0xf")
    assert problem.rule == "dpp.mask"


def test_wide_operations_have_one_control_on_cdna() -> None:
    line = "v_mov_b64_dpp v[0:1], v[2:3] {} row_mask:0xf bank_mask:0xf"
    assert [one.rule for one in problems("gfx942", line.format("row_shr:1"))] == ["dpp.wide"]
    assert problems("gfx942", line.format("row_newbcast:1")) == []
