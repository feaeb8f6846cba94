"""Code that control does not reach, and subroutines that only computed calls reach."""

from __future__ import annotations

from asmevo_gate.analysis.reachability import subroutines_not_followed, unreachable_runs
from asmevo_gate.gate.file_check import check_text
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source

_SUBROUTINE = "sub:\n v_mov_b32 v0, 0\n s_setpc_b64 s[8:9]\n"
_CALLING = "k:\n s_swappc_b64 s[8:9], s[6:7]\n s_endpgm\n" + _SUBROUTINE
_STOPPED = "k:\n s_endpgm\n s_swappc_b64 s[8:9], s[6:7]\n s_endpgm\n" + _SUBROUTINE


def function(text: str) -> Function:
    (only,) = build_program(parse_source("k.s", text), parse_target("gfx90a")).functions
    return only


def test_unreachable_blocks_are_given_as_runs() -> None:
    one = function("k:\n s_branch .Lb\n s_nop 0\n.La:\n s_nop 1\n.Lb:\n s_endpgm\n.Lc:\n s_nop 0\n s_endpgm\n")
    assert [[block.number for block in run] for run in unreachable_runs(one)] == [[1, 2], [4]]


def test_a_subroutine_may_be_what_a_computed_call_goes_to() -> None:
    assert [run[0].label for run in subroutines_not_followed(function(_CALLING))] == ["sub"]


def test_a_subroutine_behind_a_stop_is_just_unreachable() -> None:
    assert subroutines_not_followed(function(_STOPPED)) == []


def test_code_that_only_computed_calls_reach_is_not_checked_and_not_dead() -> None:
    checked = check_text("k.s", _CALLING, parse_target("gfx90a"), SourceOptions())
    assert ["reached by calls" in unknown.reason for unknown in checked.unknown] == [True]
    assert not [found for found in checked.violations if found.rule.id == "cf.unreachable"]
    stopped = check_text("k.s", _STOPPED, parse_target("gfx90a"), SourceOptions())
    assert [found for found in stopped.violations if found.rule.id == "cf.unreachable"]


def test_a_block_whose_address_is_computed_may_be_entered() -> None:
    handler = (
        "k:\n s_add_u32 ttmp0, ttmp0, .Lparked-.\n s_rfe_b64 [ttmp0, ttmp1]\n.Lparked:\n s_trap 2\n s_branch .Lnext\n"
    )
    rest = ".Lnext:\n s_branch .Lparked\n"
    assert unreachable_runs(function(handler + rest)) == []
    stopped = handler.replace("s_add_u32 ttmp0, ttmp0, .Lparked-.", "s_nop 0")
    assert [[block.number for block in run] for run in unreachable_runs(function(stopped + rest))] == [[1, 2]]


def test_an_address_that_dead_code_computes_is_none() -> None:
    one = function("k:\n s_endpgm\n s_add_u32 s0, s0, .La-.\n.La:\n s_nop 0\n s_endpgm\n")
    assert [[block.number for block in run] for run in unreachable_runs(one)] == [[1, 2]]
