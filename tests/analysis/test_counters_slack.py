"""Waits that are stronger than needed: the weakest form is exact and keeps the kernel right."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.analysis import pending_slack
from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.analysis.pending_slack import Slack, too_strong_waits
from asmevo_gate.isa.waits import weaker_wait
from tests.analysis.written_functions import kernel
from tests.oracles.wait_paths import WaitPaths
from tests.oracles.wait_programs import random_program


def advice(gpu: str, body: str) -> list[tuple[int, str, int, int | None]]:
    found = too_strong_waits(pending_memory(kernel(gpu, body)))
    return [(one.wait.index, one.counter, one.count, one.enough) for one in found]


LOADS = "\n".join(f"global_load_dword v{n}, v[0:1], off offset:{4 * n}" for n in range(2, 7))


def test_weakest_count_is_named() -> None:
    body = f"{LOADS}\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v2\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v6\ns_endpgm"
    assert advice("gfx942", body) == [(5, "vmcnt", 0, 4)]


def test_weakest_count_over_two_paths() -> None:
    body = f"""{LOADS}
    s_waitcnt vmcnt(0)
    s_cbranch_scc1 .Lother
    v_mov_b32 v9, v2
    s_endpgm
    .Lother:
    v_mov_b32 v9, v4
    s_endpgm
    """
    assert advice("gfx942", body) == [(5, "vmcnt", 0, 2)]


@pytest.mark.parametrize(
    "behind", ["s_barrier", "buffer_inv sc1", "s_swappc_b64 s[30:31], s[4:5]", "s_setpc_b64 s[4:5]"]
)
def test_waits_that_order_memory_are_left_alone(behind: str) -> None:
    assert advice("gfx942", f"{LOADS}\ns_waitcnt vmcnt(0)\n{behind}\nv_mov_b32 v9, v2\ns_endpgm") == []


def test_a_translation_that_ends_with_a_later_wait_for_data_needs_no_earlier_one() -> None:
    body = """
    global_load_b32 v2, v[0:1], off
    global_load_b32 v3, v[4:5], off
    s_wait_xcnt 0x0
    v_mov_b32 v0, 0
    s_wait_loadcnt 0x0
    v_mov_b32 v4, v2
    v_mov_b32 v5, v3
    s_endpgm
    """
    assert advice("gfx1250", body) == [(2, "xcnt", 0, 1)]


def test_a_wait_for_data_that_also_ends_a_translation_stays_as_strong_as_that_needs() -> None:
    """On gfx1250 the address of a load may be overwritten once its data is there: loadcnt stands in for xcnt."""
    loads = "global_load_b32 v4, v[0:1], off\nglobal_load_b32 v5, v[2:3], off\ns_wait_loadcnt 0x0\nv_mov_b32 v9, v4"
    rest = "s_wait_loadcnt 0x0\nv_mov_b32 v9, v5\ns_endpgm"
    assert advice("gfx1250", f"{loads}\nv_mov_b32 v0, 0\n{rest}") == [(2, "loadcnt", 0, 1)]
    assert advice("gfx1250", f"{loads}\nv_mov_b32 v2, 0\n{rest}") == [(5, "loadcnt", 0, None)]


def test_waits_for_stores_are_left_alone() -> None:
    assert advice("gfx1030", "global_store_dword v[0:1], v2, off\ns_waitcnt_vscnt null, 0x0\ns_endpgm") == []


def test_nothing_in_flight() -> None:
    assert advice("gfx942", "s_waitcnt vmcnt(0)\ns_endpgm") == [(0, "vmcnt", 0, None)]


def test_two_waits_for_one_result_are_not_both_called_needless() -> None:
    body = (
        "global_load_dword v2, v[0:1], off\ns_waitcnt vmcnt(0)\ns_nop 0\ns_waitcnt vmcnt(0)\nv_mov_b32 v9, v2\ns_endpgm"
    )
    found = advice("gfx942", body)
    assert len(found) == 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1200"]), st.integers(0, 2**32))
def test_advice_followed_makes_no_race(gpu: str, seed: int) -> None:
    text = random_program(gpu, random.Random(seed), 20)
    memory = pending_memory(kernel(gpu, text))
    found = too_strong_waits(memory)
    changed = kernel(gpu, _followed(text, memory, found))
    assert WaitPaths(changed).races() <= WaitPaths(memory.function).races()


def _followed(text: str, memory: PendingMemory, found: tuple[Slack, ...]) -> str:
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if not line.endswith(":")]
    for one in found:
        line = places[one.wait.index]
        function = memory.function
        decoded = kernel(function.target.name, f"{lines[line]}\ns_endpgm").instructions[0].decoded
        assert decoded is not None
        if decoded.base.startswith("s_wait"):
            new = weaker_wait(decoded, function.target, one.counter, one.enough)
            lines[line] = new if new and ";" not in new else "s_nop 0" if not new else lines[line]
    return "\n".join(lines)


_ANY_GPU = st.sampled_from(["gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1250"])


def _races(memory: PendingMemory) -> set[tuple[str, int, int, int]]:
    return {race[:4] for race in memory.races_of_graph}


@settings(max_examples=300, deadline=None)
@given(_ANY_GPU, st.integers(0, 2**32))
def test_independent_advice_needs_no_trial(gpu: str, seed: int) -> None:
    memory = pending_memory(kernel(gpu, random_program(gpu, random.Random(seed), 40)))
    found = list(pending_slack.single_advice(memory))
    if found and pending_slack.are_independent(memory, found):
        weaker = pending_slack.weakened(memory, [one.slack for one in found])
        assert _races(PendingMemory(memory.function, effects=weaker)) <= _races(memory)


@settings(max_examples=300, deadline=None)
@given(_ANY_GPU, st.integers(0, 2**32))
def test_going_on_from_a_lower_fixed_point_finds_what_a_fresh_start_finds(gpu: str, seed: int) -> None:
    memory = pending_memory(kernel(gpu, random_program(gpu, random.Random(seed), 40)))
    found = list(pending_slack.single_advice(memory))
    if found:
        weaker = pending_slack.weakened(memory, [one.slack for one in found])
        fresh = PendingMemory(memory.function, effects=weaker)
        assert _races(PendingMemory(memory.function, effects=weaker, below=memory)) == _races(fresh)
