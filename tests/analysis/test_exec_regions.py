"""Masked regions and what a function must leave as it found it."""

from __future__ import annotations

from asmevo_gate.analysis.calling_convention import clobbers, returns_with_lanes_off
from asmevo_gate.analysis.exec_regions import exec_regions, while_masked
from asmevo_gate.isa.registers import set_name
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

REGION = (
    "k:\n  s_and_saveexec_b64 s[8:9], vcc\n  s_cbranch_execz .Ljoin\n  v_mov_b32 v1, 0\n.Ljoin:\n  v_mov_b32 v2, 0\n"
    "  s_or_b64 exec, exec, s[8:9]\n  v_mov_b32 v3, 0\n  s_endpgm\n"
)


def function(text: str) -> Function:
    return build_program(parse_source("f.s", text), find_target("gfx900")).functions[0]


def test_a_region_knows_its_mask_and_its_join() -> None:
    code = function(REGION)
    (region,) = exec_regions(code)
    assert set_name(region.saved) == "s[8:9]"
    assert region.join.label == ".Ljoin"
    assert [one.statement.text for one in while_masked(code, region.join)] == ["v_mov_b32 v2, 0"]


def test_a_branch_on_another_mask_is_no_region() -> None:
    assert list(exec_regions(function(REGION.replace("s_and_saveexec_b64 s[8:9], vcc", "s_mov_b64 exec, vcc")))) == []


SAVED = "  v_writelane_b32 v20, s34, 0\n  s_mov_b32 s34, 0\n  v_readlane_b32 s34, v20, 0\n"


def device(body: str) -> Function:
    return function(f".type f,@function\nf:\n{body}  s_setpc_b64 s[30:31]\n")


def test_a_saved_register_is_not_lost() -> None:
    assert list(clobbers(device(SAVED))) == []
    (lost,) = clobbers(device("  s_mov_b32 s34, 0\n"))
    assert set_name(lost.registers) == "s34"


def test_scratch_registers_are_free() -> None:
    assert list(clobbers(device("  v_mov_b32 v39, 0\n  v_mov_b32 v48, 0\n  s_mov_b32 s29, 0\n"))) == []


def test_a_write_behind_which_nothing_returns_is_no_fault() -> None:
    body = "  s_cbranch_scc1 .Lstop\n  s_setpc_b64 s[30:31]\n.Lstop:\n  v_mov_b32 v40, 0\n  s_endpgm\n"
    assert list(clobbers(function(f".type f,@function\nf:\n{body}"))) == []


def test_lanes_must_be_back_at_the_return() -> None:
    assert len(list(returns_with_lanes_off(device("  s_and_saveexec_b64 s[4:5], vcc\n")))) == 1
    restored = "  s_and_saveexec_b64 s[4:5], vcc\n  s_or_b64 exec, exec, s[4:5]\n"
    assert list(returns_with_lanes_off(device(restored))) == []
