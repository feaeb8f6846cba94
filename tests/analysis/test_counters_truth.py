"""The counter analysis against brute force: orders of completion, and all paths of random programs."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.analysis.counters import UNORDERED
from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from tests.analysis.written_functions import kernel
from tests.oracles.wait_paths import Found, WaitPaths
from tests.oracles.wait_programs import random_program
from tests.oracles.wait_schedules import Issue, Wait, possibly_in_flight

_TEXTS = {
    "lds": "ds_read_b32 v{n}, v0",
    "gds": "ds_read_b32 v{n}, v0 gds",
    "message": "s_sendmsg sendmsg(MSG_SYSMSG)",
    "": "s_load_dword s{n}, s[0:1], 0x0",
}
_CAPACITY = 15
_steps = st.lists(
    st.one_of(
        st.sampled_from([Issue("lds"), Issue("lds"), Issue("gds"), Issue("")]),
        st.integers(0, 4).map(Wait),
    ),
    max_size=9,
)


@settings(max_examples=300, deadline=None)
@given(_steps)
def test_what_may_be_in_flight_is_what_some_order_of_ends_leaves(steps: list[Issue | Wait]) -> None:
    lines = [
        f"s_waitcnt lgkmcnt({step.at_most})" if isinstance(step, Wait) else _TEXTS[step.order].format(n=position + 10)
        for position, step in enumerate(steps)
    ]
    memory = pending_memory(kernel("gfx900", "\n".join([*lines, "s_endpgm"])))
    found = {one.producer.index for one in memory.before(len(steps)) if one.counter == "lgkmcnt"}
    assert found == possibly_in_flight(steps, _CAPACITY)


def test_a_full_counter_ends_the_oldest() -> None:
    exports = [f"exp mrt0 v{n}, v{n}, v{n}, v{n}" for n in range(9)]
    memory = pending_memory(kernel("gfx900", "\n".join([*exports, "s_endpgm"])))
    in_flight = {one.producer.index for one in memory.before(9)}
    assert in_flight == possibly_in_flight([Issue("mrt")] * 9, capacity=7) == set(range(2, 9))


GPUS = ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1250")


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(GPUS), st.integers(0, 2**32), st.integers(3, 25))
def test_races_are_those_of_some_path(gpu: str, seed: int, length: int) -> None:
    function = kernel(gpu, random_program(gpu, random.Random(seed), length))
    memory = pending_memory(function)
    assert memory.not_modelled == ()
    counters = memory.model.counters
    found = {
        Found(race.consumer, race.producer, counters[race.track], race.access)
        for race in memory.races_of_graph
        if race.access in ("raw", "waw", "war", "barrier")
    }
    truth = WaitPaths(function).races()
    if gpu == "gfx1250":  # a load over the address of an earlier one is taken as a wait, see counters.json
        found = {one for one in found if one.counter != "xcnt"}
        truth = {one for one in truth if one.counter != "xcnt"}
    assert found <= truth, "a race that happens on no path"
    # A producer is left out where a later one of the same kind writes its registers as well and only a wait for 0
    # ends either; its counter is reported all the same.
    assert {one.counter for one in truth} == {one.counter for one in found}, "a race that is not reported"
    assert {one for one in truth - found if not _only_zero_ends(memory, one)} == set()


def _only_zero_ends(memory: PendingMemory, one: Found) -> bool:
    """Scalar operations always; anything behind a FLAT operation on gfx9."""
    effect = memory.effects[one.producer]
    track = memory.model.track(one.counter)
    unordered = any(event.track == track and event.order == UNORDERED for event in effect.events)
    return unordered or memory.function.target.facts["waitcnt"] == "gfx9"
