"""Waits that wait for more than the code behind them needs, and the weakest form that is still enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from asmevo_gate.analysis.counters import Effect
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_state import Race, State, Walk
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.waits import counter_limits
from asmevo_gate.program.model import Block, Instruction

_STEPS_PER_INSTRUCTION = 40
"""Work limit, in steps per instruction of the function: what is not looked at gets no advice."""

_ORDERING_KINDS = frozenset(("invalidate", "writeback", "message", "message_return", "flat_store"))


@dataclass(frozen=True, slots=True)
class Slack:
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
    return state is not None and track is not None and bool(producers & state.tracks[track].keys())


class _Onward:
    """The function as the events that a weaker wait leaves in flight meet it: no instruction issues anything new.

    ``ordering`` tells of each instruction whether it orders memory for other waves, ``only_waits`` whether it waits and
    does nothing else.
    """

    def __init__(self, memory: PendingMemory) -> None:
        self.memory = memory
        self.effects = list(memory.effects)
        self.ordering = [False] * len(memory.effects)
        self.only_waits = [False] * len(memory.effects)
        for one in memory.function.spellings:
            effect = memory.effects[one.indices[0]]
            if effect.events:
                for index in one.indices:
                    self.effects[index] = memory.effects[index]._replace(events=())
            if _orders_memory(one.decoded, effect):
                for index in one.indices:
                    self.ordering[index] = True
            if effect.waits and not effect.touches and not effect.events:
                for index in one.indices:
                    self.only_waits[index] = True


def single_advice(memory: PendingMemory) -> Iterator[Advice]:
    """Each wait that alone may be weaker."""
    onward = _Onward(memory)
    clouded = _clouded_blocks(memory)
    raced = {race.track for race in memory.races_of_graph}
    budget = _STEPS_PER_INSTRUCTION * len(memory.effects) + 10_000
    for block in memory.function.blocks:
        start = memory.start_of(block)
        waits = [index for index in range(block.first, block.end) if onward.only_waits[index]]
        if start is None or not waits or block.number in clouded:
            continue
        walk = Walk(memory.model, memory.effects, start)
        for index, effect in enumerate(memory.effects[block.first : waits[-1] + 1], block.first):
            if effect.unknown:
                break
            if onward.only_waits[index]:
                state = walk.state()
                for track, count in effect.waits:
                    if track < len(memory.model.counters) and track not in raced and budget > 0:
                        found, steps = _weakest(onward, block, index, track, count, state)
                        budget -= steps
                        if found:
                            yield found
            if effect.active or effect.touches & walk.holds or effect.writes & walk.locks:
                walk.step(index, effect)


def _weakest(
    onward: _Onward, block: Block, index: int, track: int, count: int, state: State
) -> tuple[Advice | None, int]:
    memory = onward.memory
    wait = memory.function.instructions[index]
    counter = memory.model.counters[track]
    if not state.tracks[track]:
        return Advice(Slack(wait, counter, count, None, True), set(), set()), 1
    ended = {
        event: later for event, later in state.tracks[track].items() if event >= 0 and (count == 0 or later >= count)
    }
    if not ended:
        return None, 1
    ghosts = State(memory.model.tracks)
    ghosts.tracks[track] = dict(ended)
    for shadow in range(len(memory.model.counters), memory.model.tracks):
        if memory.model.main_track[shadow] == track:
            ghosts.tracks[shadow] = {e: v for e, v in state.tracks[shadow].items() if e in ended}
    need = _Need({event for event, later in ended.items() if later <= count})
    steps = _find_needed(onward, block, index, track, ghosts, need)
    if need.decided:
        return None, steps
    enough = min((ended[event] for event in need.events), default=None)
    if enough is None and not _waits_again(memory, block, index, track):
        return None, steps
    kept = {event for event, later in ended.items() if enough is None or later < enough}
    return Advice(Slack(wait, counter, count, enough, False), kept, need.ended_by), steps


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


class _Need:
    """Which of the events that a wait ends something behind it needs, were the wait not there for them.

    ``decided``: one of those is among them for which the wait must stay as strong as it is. ``ended_by`` are the waits
    that end some of the others.
    """

    def __init__(self, deciding: set[int]) -> None:
        self.events: set[int] = set()
        self.ended_by: set[int] = set()
        self.decided = False
        self._deciding = deciding

    def add(self, events: Iterable[int]) -> None:
        self.events.update(events)
        self.decided = not self._deciding.isdisjoint(self.events)

    def report(self, race: Race) -> None:
        self.add((race.producer,))


def _find_needed(onward: _Onward, block: Block, index: int, track: int, ghosts: State, need: _Need) -> int:
    """Fill in what is needed, until that is decided or complete. The number of instructions looked at."""
    memory = onward.memory
    for event in ghosts.tracks[track]:
        one = next(one for one in memory.effects[event].events if one.track == track)
        if not (one.holds or one.locks) or one.fills_lds:
            need.add((event,))  # what a store or a fill of LDS orders is seen by other waves
    states: dict[int, State] = {}
    steps = 1
    work: list[tuple[Block, int, State]] = [(block, index + 1, ghosts)]
    while work and not need.decided:
        at, first, state = work.pop()
        walk = Walk(memory.model, memory.effects, state)
        stop = _stop(onward, walk, first, at.end, need)
        if stop is not None:
            steps += stop - first + 1
            if onward.ordering[stop]:
                need.add(walk.in_flight())
            continue
        steps += at.end - first
        end = walk.state()
        if at.leaves or at.falls_off:
            need.add(walk.in_flight())
        for number in at.successors:
            known = states.get(number)
            if known is None:
                states[number] = end.copy()
            elif not known.merge(end):
                continue
            following = memory.function.blocks[number]
            work.append((following, following.first, states[number]))
    return steps


def _stop(onward: _Onward, walk: Walk, first: int, end: int, need: _Need) -> int | None:
    """Walk on to ``end``. The instruction on the way that orders memory, or behind which nothing is left to find."""
    for position, effect in enumerate(onward.effects[first:end], first):
        if onward.ordering[position]:
            return position
        if effect.active or effect.touches & walk.holds or effect.writes & walk.locks:
            in_flight = walk.size() if onward.only_waits[position] else 0
            walk.step(position, effect, need.report)
            if walk.size() < in_flight:
                need.ended_by.add(position)
            if need.decided or walk.nothing_in_flight():
                return position
    return None


def _orders_memory(decoded: Decoded | None, effect: Effect) -> bool:
    if effect.unknown or effect.arrives or effect.passes or effect.kind in _ORDERING_KINDS:
        return True
    return decoded is not None and decoded.of(Op.CALL | Op.INDIRECT)


def _clouded_blocks(memory: PendingMemory) -> set[int]:
    """Blocks at whose start something not modelled may be in flight."""
    blocks = memory.function.blocks
    work = [
        number
        for block in blocks
        if block.leaves or any(memory.effects[index].unknown for index in range(block.first, block.end))
        for number in block.successors
    ]
    found = set(work)
    while work:
        for number in blocks[work.pop()].successors:
            if number not in found:
                found.add(number)
                work.append(number)
    return found


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
