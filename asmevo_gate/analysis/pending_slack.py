"""Waits that wait for more than the code behind them needs, and the weakest form that is still enough."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from asmevo_gate.analysis.counters import Effect
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_need import Need, Onward
from asmevo_gate.analysis.pending_state import STUCK, Events
from asmevo_gate.isa.waits import counter_limits
from asmevo_gate.program.model import Block, Instruction
from asmevo_gate.program.reach import reached_from

_STEPS_PER_INSTRUCTION = 40
"""Work limit, in steps per instruction of the function: what is not looked at gets no advice."""


class Slack(msgspec.Struct, frozen=True):
    """A wait for ``counter`` at ``wait`` that may be weaker.

    ``count`` is what it waits for, ``enough`` the largest count that gives the same results on all paths, ``None`` when
    no wait for this counter is needed here. ``nothing_pending``: no operation of the counter can be in flight.
    """

    wait: Instruction
    counter: str
    count: int
    enough: int | None
    nothing_pending: bool


def too_strong_waits(memory: PendingMemory) -> tuple[Slack, ...]:
    """Waits of a kernel that are stronger than needed, each with the weakest form.

    The advice holds jointly: with all of it followed the analysis finds no race that it does not find now. Nothing is
    said of waits that order memory for other waves (before barriers, cache operations, messages, behind stores), of
    waits behind calls or unknown instructions, of counters on which a race was found, and of functions that are no
    kernels.
    """
    function = memory.function
    if not function.is_kernel:
        return ()
    advice = list(single_advice(memory))
    known = {race[:4] for race in memory.races_of_graph}
    while advice and not are_independent(memory, advice):
        changed = PendingMemory(function, effects=weakened(memory, [one.slack for one in advice]), below=memory)
        new = {race.producer for race in changed.races_of_graph if race[:4] not in known}
        if not new:
            break
        kept = [one for one in advice if not (one.slack.nothing_pending and _ends_any(changed, one.slack, new))]
        if len(kept) == len(advice):
            kept = [one for one in advice if not one.kept & new]
        advice = kept if len(kept) < len(advice) else []
    return tuple(one.slack for one in advice)


class Advice(NamedTuple):
    """A wait that alone may be weaker: what it would no longer end, and the waits behind it that then do."""

    slack: Slack
    kept: set[int]
    ended_by: set[int]


def are_independent(memory: PendingMemory, advice: list[Advice]) -> bool:
    """True when each advice holds whatever becomes of the others: no wait that it counts on gets weaker, and nothing
    that stays in flight changes the order in which other operations end."""
    weaker = {one.slack.wait.index for one in advice}
    kept = {event for one in advice for event in one.kept}
    return all(weaker.isdisjoint(one.ended_by) for one in advice) and not any(
        event.breaks_order for index in kept for event in memory.effects[index].events
    )


def _ends_any(changed: PendingMemory, one: Slack, producers: set[int]) -> bool:
    """True when a wait that had nothing to do would, with the other advice followed, end one of the producers."""
    state = changed.state_before(one.wait.index)
    track = changed.model.track(one.counter)
    return state is not None and track is not None and bool(producers & state.on(track).keys())


def single_advice(memory: PendingMemory) -> Iterator[Advice]:
    """Each wait that alone may be weaker."""
    onward = Onward(memory)
    unknown = memory.unknown
    clouded = _clouded_blocks(memory)
    raced = _raced_counters(memory)
    budget = _STEPS_PER_INSTRUCTION * len(memory.effects) + 10_000
    for index in sorted(memory.found_by_wait):
        block = memory.function.block_of(index)
        if block.number in clouded or bisect_left(unknown, block.first) < bisect_left(unknown, index):
            continue
        for track, count in memory.effects[index].waits:
            if track < len(memory.model.counters) and track not in raced and budget > 0:
                found, steps = _weakest(onward, block, index, track, count)
                budget -= steps
                if found:
                    yield found


def _weakest(onward: Onward, block: Block, index: int, track: int, count: int) -> tuple[Advice | None, int]:
    memory = onward.memory
    in_flight = memory.found_by_wait[index]
    if track not in in_flight:
        wait, counter = memory.function.instructions[index], memory.model.counters[track]
        return Advice(Slack(wait, counter, count, None, True), set(), set()), 1
    ended, tracks = _ended_by(memory, index, track)
    if not ended:
        return None, 1
    need = Need({event for event, later in ended.items() if later <= count})
    steps = onward.find_needed(block, index, track, tracks, need)
    if need.decided:
        return None, steps
    enough = min((ended[event] for event in need.events), default=None)
    if enough is None and not _waits_again(memory, block, index, track):
        return None, steps
    kept = {event for event, later in ended.items() if enough is None or later < enough}
    wait, counter = memory.function.instructions[index], memory.model.counters[track]
    return Advice(Slack(wait, counter, count, enough, False), kept, need.ended_by), steps


def _ended_by(memory: PendingMemory, index: int, track: int) -> tuple[dict[int, int], dict[int, Events]]:
    """What the wait at ``index`` ends because it waits for ``track``, there and on other counters whose events end with
    those of ``track``: how many later events there are at least, and where the events are in flight."""
    model, in_flight = memory.model, memory.found_by_wait[index]
    ended: dict[int, int] = {}
    tracks: dict[int, Events] = {}
    for listening, count in memory.effects[index].waits:
        if listening not in model.waits_on[track]:
            continue
        mine = {
            event: later
            for event, later in in_flight.get(listening, {}).items()
            if event >= 0 and (later >= count or (later == STUCK and count == 0))
        }
        for event, later in mine.items():
            ended[event] = min(later, ended.get(event, later))
        for other in model.family[model.main_track[listening]]:
            there = {event: later for event, later in in_flight.get(other, {}).items() if event in mine}
            if there:
                tracks[other] = {**tracks.get(other, {}), **there}
    return ended, tracks


def _raced_counters(memory: PendingMemory) -> set[int]:
    """The counters on which a race was found, and those that end events of such a counter."""
    raced = {race.track for race in memory.races_of_graph}
    model = memory.model
    return {
        counter
        for counter, tracks in enumerate(model.waits_on)
        if not raced.isdisjoint(model.main_track[t] for t in tracks)
    }


def _waits_again(memory: PendingMemory, block: Block, index: int, track: int) -> bool:
    """True when the next thing that has to do with the counter is another wait for it: then this one does nothing.
    Waits that something merely happens to follow in time, such as one for kernel arguments, are good style."""
    for position in range(index + 1, block.end):
        effect = memory.effects[position]
        if any(one == track for one, _ in effect.waits):
            return True
        if any(one == track for one, _ in effect.counts):
            return False
    return False


def _clouded_blocks(memory: PendingMemory) -> frozenset[int]:
    """Blocks at whose start something not modelled may be in flight."""
    blocks = memory.function.blocks
    unknown = {memory.function.block_of(index).number for index in memory.unknown}
    calls = [block for block in blocks if any(unknown & memory.function.subroutines[entry] for entry in block.entries)]
    sources = [block for block in blocks if block.leaves] + [blocks[number] for number in unknown] + calls
    return frozenset(reached_from(blocks, (number for block in sources for number in block.successors)))


def weakened(memory: PendingMemory, advice: list[Slack]) -> list[Effect]:
    """The effects of the function with all advice followed."""
    effects = list(memory.effects)
    limits = counter_limits(memory.function.target)
    for one in advice:
        count = limits[one.counter] if one.enough is None else one.enough
        main = memory.model.counters.index(one.counter)
        index = one.wait.index
        waits = []
        for track, old in effects[index].waits:
            weaker = memory.model.waited_counter(track) == main
            new = max(old, count) if weaker else old
            if new < memory.model.capacity[track]:
                waits.append((track, new))
        effects[index] = effects[index]._replace(waits=tuple(waits))
    return effects
