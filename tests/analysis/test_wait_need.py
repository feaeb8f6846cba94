"""What the code behind a wait needs: the search finds exactly what a new analysis without the wait finds."""

from __future__ import annotations

import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from asmevo_gate.analysis.pending_events import InFlight
from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.analysis.pending_slack import Slack, single_advice, weakened
from asmevo_gate.analysis.pending_state import Race, State
from asmevo_gate.analysis.pending_violations import wait_violations
from asmevo_gate.analysis.pending_walk import Walk
from asmevo_gate.isa.waits import wait_text
from tests.analysis.written_functions import kernel
from tests.oracles.wait_programs import random_program

_GPUS = st.sampled_from(["gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1250"])
_SEEDS = st.integers(0, 2**32)

_SEEN_BY_OTHER_WAVES = ("store", "ds_write", "s_barrier", "s_sendmsg")


def private_program(gpu: str, seed: int) -> list[str]:
    """A program that no other wave can watch. No FLAT operation changes what a count means."""
    lines = random_program(gpu, random.Random(seed), 25).split("\n")
    lines = [line for line in lines if not any(word in line for word in _SEEN_BY_OTHER_WAVES)]
    return [line for line in lines if not (gpu.startswith("gfx9") and line.startswith("flat_"))]


def with_all_waits(gpu: str, lines: list[str]) -> PendingMemory:
    """The program with every wait that it needs besides those that it has."""
    while True:
        memory = pending_memory(kernel(gpu, "\n".join(lines)))
        violations = wait_violations(memory)
        if not violations:
            return memory
        places = [number for number, line in enumerate(lines) if not line.endswith(":")]
        one = violations[0]
        lines.insert(places[one.consumer.index], wait_text(one.counter, one.required, memory.function.target))


def new_races(memory: PendingMemory, index: int, counter: str, enough: int | None) -> set[Race]:
    """The races that there are when one wait waits for less."""
    slack = Slack(memory.function.instructions[index], counter, 0, enough, nothing_pending=False)
    changed = PendingMemory(memory.function, effects=weakened(memory, [slack]))
    return set(changed.races_of_graph) - set(memory.races_of_graph)


@settings(max_examples=150, deadline=None)
@given(_GPUS, _SEEDS)
@example("gfx1250", 268435455)  # the wait for a load ended a translation too
def test_a_wait_is_needed_as_far_as_no_advice_says_otherwise(gpu: str, seed: int) -> None:
    memory = with_all_waits(gpu, private_program(gpu, seed))
    judged = set(range(len(memory.model.counters))) - {race.track for race in memory.races_of_graph}
    advice = {(one.slack.wait.index, one.slack.counter): one.slack.enough for one in single_advice(memory)}
    for index in memory.found_by_wait:
        for track, count in memory.effects[index].waits:
            if track not in judged:
                continue
            counter = memory.model.counters[track]
            if (index, counter) not in advice:
                needed = new_races(memory, index, counter, count + 1)
                assert needed or not new_races(memory, index, counter, None)
            else:
                enough = advice[index, counter]
                assert not new_races(memory, index, counter, enough)
                assert enough is None or new_races(memory, index, counter, enough + 1)


@settings(max_examples=200, deadline=None)
@given(_GPUS, _SEEDS)
def test_events_pass_instructions_alike_whether_new_ones_are_issued_or_not(gpu: str, seed: int) -> None:
    lines = [line for line in private_program(gpu, seed) if "s_load" not in line]  # a newer one may stand for an older
    memory = pending_memory(kernel(gpu, "\n".join(lines)))
    for block in memory.function.blocks:
        for first in range(block.first, block.end):
            before = memory.state_before(first)
            if before is None:
                continue
            races: tuple[list[Race], list[Race]] = ([], [])
            walk, events = Walk(memory.model, memory.effects, before), InFlight(memory.model, memory.effects, before)
            for index in range(first, block.end):
                walk.step(index, memory.effects[index], races[0].append)
                events.step_past(index, memory.effects[index], races[1].append)
                new = set(range(first, index + 1))
                assert _without(walk.state(), new) == _without(events.state(), new)
            new = set(range(first, block.end))
            assert {one for one in races[0] if one.producer not in new} == set(races[1]) - _of(new, races[1])


def _without(state: State, issued: set[int]) -> dict[tuple[int, int], int]:
    return {
        (track, event): later
        for track, events in state.tracks.items()
        for event, later in events.items()
        if event not in issued
    }


def _of(producers: set[int], races: list[Race]) -> set[Race]:
    return {one for one in races if one.producer in producers}
