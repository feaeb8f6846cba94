"""Branches that test the same thing agree: races on paths that contradict themselves are not reported."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_memory import pending_memory
from tests.analysis.written_functions import kernel


def races(body: str) -> list[int]:
    return [race.consumer for race in pending_memory(kernel("gfx942", body)).races]


def skipped_prefetch(first: str, second: str, between: str = "s_nop 0") -> str:
    """A prefetch that is skipped under one condition, and a wait that is chosen by another."""
    return f"""
    global_load_dword v2, v[0:1], off
    {first}
    s_cbranch_scc1 .Lskip
    global_load_dword v3, v[0:1], off
    .Lskip:
    {between}
    {second}
    s_cbranch_scc1 .Lall
    s_waitcnt vmcnt(1)
    s_branch .Luse
    .Lall:
    s_waitcnt vmcnt(0)
    .Luse:
    v_mov_b32 v9, v2
    s_endpgm
    """


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s_cmp_eq_u32 s4, 1", "s_cmp_eq_u32 s4, 0x1"),
        ("s_cmp_eq_u32 s4, 1", "s_cmp_le_u32 s4, 2"),
        ("s_cmp_eq_i32 s4, 1", "s_cmp_lt_u32 s4, 2"),
        ("s_cmp_lt_u32 s4, 5", "s_cmp_lg_u32 s4, 7"),
        ("s_cmp_lt_i32 s4, s5", "s_cmp_lt_i32 s4, s5"),
        ("s_cmp_eq_u32 s4, s5", "s_cmp_eq_u32 s4, s5"),
        ("s_cmp_eq_u32 s4, s5", "s_nop 0"),
    ],
)
def test_same_question_same_answer(first: str, second: str) -> None:
    assert races(skipped_prefetch(first, second)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s_cmp_eq_u32 s4, 1", "s_cmp_eq_u32 s4, 2"),
        ("s_cmp_le_u32 s4, 2", "s_cmp_eq_u32 s4, 1"),
        ("s_cmp_eq_u32 s4, 1", "s_cmp_eq_u32 s5, 1"),
        ("s_cmp_lt_i32 s4, s5", "s_cmp_lt_u32 s4, s5"),
        ("s_cmp_lt_i32 s4, s5", "s_cmp_lt_i32 s5, s4"),
    ],
)
def test_another_question_may_have_another_answer(first: str, second: str) -> None:
    assert len(races(skipped_prefetch(first, second))) == 1


@pytest.mark.parametrize("between", ["s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)", "s_mov_b32 s4, s9"])
def test_a_changed_register_is_another_question(between: str) -> None:
    assert len(races(skipped_prefetch("s_cmp_eq_u32 s4, 1", "s_cmp_eq_u32 s4, 1", between))) == 1


def test_counting_down_keeps_the_range() -> None:
    body = skipped_prefetch("s_cmp_eq_u32 s4, 3", "s_cmp_eq_u32 s4, 2", "s_sub_u32 s4, s4, 1")
    assert races(body) == []


def test_condition_before_the_producer_counts() -> None:
    body = """
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 .Lend
    global_load_dword v2, v[0:1], off
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 .Luse
    s_waitcnt vmcnt(0)
    .Luse:
    v_mov_b32 v9, v2
    .Lend:
    s_endpgm
    """
    assert races(body) == []


def test_what_the_entry_excluded_holds_later() -> None:
    body = """
    s_cmp_eq_u32 s6, 1
    s_cbranch_scc1 .Lend
    s_cbranch_vccnz .Lleft
    s_nop 0
    .Lleft:
    s_nop 1
    .Lloop:
    global_load_dword v2, v[0:1], off
    s_mov_b32 s5, s6
    s_sub_u32 s5, s5, 1
    s_cmp_eq_i32 s5, 0
    s_cbranch_scc1 .Luse
    s_waitcnt vmcnt(0)
    .Luse:
    v_mov_b32 v9, v2
    s_cbranch_execnz .Lloop
    .Lend:
    s_endpgm
    """
    assert races(body) == []
    assert len(races(body.replace("s_cmp_eq_u32 s6, 1", "s_cmp_eq_u32 s6, 2"))) == 1


def test_a_counter_in_a_loop_is_not_taken_for_its_first_value() -> None:
    body = """
    s_mov_b32 s4, 3
    .Lloop:
    global_load_dword v2, v[0:1], off
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 .Luse
    s_waitcnt vmcnt(0)
    .Luse:
    v_mov_b32 v9, v2
    s_sub_u32 s4, s4, 1
    s_cbranch_vccz .Lloop
    s_endpgm
    """
    assert len(races(body)) == 1


@pytest.mark.parametrize(
    ("load", "call"),
    [
        ("s_load_dwordx2 s[30:31], s[4:5], 0x0", "s_swappc_b64 s[30:31], s[8:9]"),
        ("s_load_dwordx2 s[8:9], s[4:5], 0x0", "s_swappc_b64 s[30:31], s[8:9]"),
        ("s_load_dwordx2 s[8:9], s[4:5], 0x0", "s_setpc_b64 s[8:9]"),
    ],
)
def test_a_call_itself_may_come_too_early(load: str, call: str) -> None:
    assert races(f"{load}\n{call}\ns_endpgm") == [1]
    assert races(f"{load}\ns_waitcnt lgkmcnt(0)\n{call}\ns_endpgm") == []
