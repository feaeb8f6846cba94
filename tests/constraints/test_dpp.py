"""DPP legality per target, against the assembler; exact replacements of old forms."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from asmevo_gate.constraints.dpp import DppProblem, dpp_problems
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.isa.targets import find_target, target_names
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source

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
    for line in ("v_mov_b32_dpp v0, v1 wave_shl:1 row_mask:0xf bank_mask:0xf",
                 "v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xf bank_mask:0xf"):  # fmt: skip
        (problem,) = problems("gfx1030", line)
        assert problem.replacement == () and "no exact equivalent" in problem.repair


def test_masks_that_switch_everything_off_are_reported() -> None:
    (problem,) = problems("gfx906", "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0x0 bank_mask:0xf")
    assert problem.rule == "dpp.mask"


def test_wide_operations_have_one_control_on_cdna() -> None:
    line = "v_mov_b64_dpp v[0:1], v[2:3] {} row_mask:0xf bank_mask:0xf"
    assert [one.rule for one in problems("gfx942", line.format("row_shr:1"))] == ["dpp.wide"]
    assert problems("gfx942", line.format("row_newbcast:1")) == []
