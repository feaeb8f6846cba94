"""Calls with a known target are followed, each into a copy of its own; all others say why they are not."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.calls import (
    MOST_COPIES,
    MOST_DEPTH,
    CallTargets,
    LinkedFunction,
    linked_function,
)
from asmevo_gate.source.parser import parse_source

_GET = "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, {0}@rel32@lo+4\ns_addc_u32 s5, s5, {0}@rel32@hi+12\n"
_SWAP = "s_swappc_b64 s[30:31], s[4:5]\n"


def _linked(text: str, name: str = "k") -> LinkedFunction:
    types = "".join(
        f".type {line[:-1]},@function\n" for line in text.splitlines() if line[:1].isalpha() and ":" in line
    )
    program = build_program(parse_source("k.s", f".text\n{types}{text}"), find_target("gfx90a"), 64)
    functions = {function.name: function for function in program.functions}
    return linked_function(functions[name], CallTargets(program.functions))


def _bases(linked: LinkedFunction) -> list[str]:
    return [one.decoded.base if one.decoded else "?" for one in linked.function.instructions]


def _walk(linked: LinkedFunction) -> list[str]:
    """The mnemonics along the first successors from the entry."""
    blocks, number, found, seen = linked.function.blocks, 0, [], set()
    while number not in seen:
        seen.add(number)
        found += _bases(linked)[blocks[number].first : blocks[number].end]
        if not blocks[number].successors:
            break
        number = blocks[number].successors[0]
    return found


_F = "f:\nv_mul_f32 v0, v0, v0\ns_setpc_b64 s[30:31]\n"


def test_a_call_leads_through_the_callee_and_back_behind_it() -> None:
    linked = _linked(f"{_F}k:\n{_GET.format('f')}{_SWAP}v_mov_b32 v9, v0\ns_endpgm\n")
    assert _walk(linked)[3:] == ["s_swappc_b64", "v_mul_f32", "s_setpc_b64", "v_mov_b32", "s_endpgm"]
    assert (linked.followed, linked.unresolved) == (frozenset({3}), ())


def test_two_calls_get_copies_of_their_own() -> None:
    call = _GET.format("f") + _SWAP
    linked = _linked(f"{_F}k:\n{call}v_mov_b32 v8, v0\n{call}v_mov_b32 v9, v0\ns_endpgm\n")
    assert _bases(linked).count("v_mul_f32") == 2
    assert sorted(set(linked.copy_of)) == [0, 1, 2]
    returns = [one.successors for one in linked.function.blocks if _bases(linked)[one.end - 1] == "s_setpc_b64"]
    assert len(set(returns)) == 2
    assert all(len(successors) == 1 for successors in returns)


def test_calls_in_callees_are_followed_and_recursion_is_not() -> None:
    text = (
        f"{_F}g:\ns_mov_b64 s[34:35], s[30:31]\n{_GET.format('f')}{_SWAP}s_setpc_b64 s[34:35]\n"
        f"k:\n{_GET.format('g')}{_SWAP}s_endpgm\n"
    )
    assert _walk(_linked(text)).count("v_mul_f32") == 1
    again = f"f:\n{_GET.format('f')}{_SWAP}s_setpc_b64 s[30:31]\nk:\n{_GET.format('f')}{_SWAP}s_endpgm\n"
    (unresolved,) = _linked(again).unresolved
    assert "calls itself" in unresolved[1]


def test_a_subroutine_of_the_same_function_is_followed() -> None:
    linked = _linked("k:\ns_call_b64 s[30:31], .Lsub\ns_endpgm\n.Lsub:\nv_mov_b32 v0, 1\ns_setpc_b64 s[30:31]\n")
    assert _walk(linked) == ["s_call_b64", "v_mov_b32", "s_setpc_b64", "s_endpgm"]


def test_an_address_from_memory_and_another_file_are_not_known() -> None:
    (unresolved,) = _linked(
        f"k:\ns_load_dwordx2 s[4:5], s[8:9], 0x0\ns_waitcnt lgkmcnt(0)\n{_SWAP}s_endpgm\n"
    ).unresolved
    assert unresolved == (2, "the target of s_swappc_b64 is not known in this file")
    assert len(_linked(f"k:\n{_GET.format('elsewhere')}{_SWAP}s_endpgm\n").unresolved) == 1


def test_the_code_that_is_put_in_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1000
    monkeypatch.setattr("asmevo_gate.program.calls.MOST_INSTRUCTIONS", most)
    big = "f:\n" + "v_mov_b32 v0, 1\n" * (most // 2) + "s_setpc_b64 s[30:31]\n"
    linked = _linked(f"{big}k:\n" + (_GET.format("f") + _SWAP) * 4 + "s_endpgm\n")
    assert len(linked.function.instructions) <= most
    assert (len(linked.followed), len(linked.unresolved)) == (1, 3)
    calls = [one for one in linked.function.spellings if one.text == _SWAP.strip()]
    assert [len(one.indices) for one in calls] == [1, 3]


def test_calls_inside_of_each_other_are_followed_to_a_bounded_depth() -> None:
    chain = "".join(f"f{depth}:\ns_call_b64 s[30:31], f{depth + 1}\ns_setpc_b64 s[30:31]\n" for depth in range(2000))
    linked = _linked(f"k:\ns_call_b64 s[30:31], f0\ns_endpgm\n{chain}f2000:\ns_setpc_b64 s[30:31]\n")
    assert len(linked.followed) == MOST_DEPTH
    assert [reason for _, reason in linked.unresolved] == [f"it is more than {MOST_DEPTH} calls deep"]


def test_calls_that_double_at_each_depth_are_copied_a_bounded_number_of_times() -> None:
    twice = "".join(
        f"f{depth}:\n" + f"s_call_b64 s[30:31], f{depth + 1}\n" * 2 + "s_setpc_b64 s[30:31]\n"
        for depth in range(MOST_DEPTH - 2)
    )
    last = f"f{MOST_DEPTH - 2}:\ns_setpc_b64 s[30:31]\n"
    linked = _linked(f"k:\ns_call_b64 s[30:31], f0\ns_endpgm\n{twice}{last}")
    assert len(linked.followed) == MOST_COPIES
    assert {reason for _, reason in linked.unresolved} == {f"{MOST_COPIES} calls are followed already"}


def test_without_calls_nothing_is_copied() -> None:
    linked = _linked("k:\ns_nop 0\ns_endpgm\n")
    assert linked.copy_of == (0,) * len(linked.function.blocks)
    assert not linked.followed
