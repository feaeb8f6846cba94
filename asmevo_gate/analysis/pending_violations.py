"""Races with memory operations as findings need them: what, where, which count, along which path."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from asmevo_gate.analysis.lds_overwrites import lds_overwrites
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_state import STUCK, Race, State
from asmevo_gate.analysis.pending_walk import Walk
from asmevo_gate.program.model import COMES_BACK, Block, Function, Instruction

TRACED_PATHS = 200
"""Races of one function whose path is traced; the others name producer and consumer only."""

_WHOLE_COUNTER = ("tensorcnt", "asynccnt")
"""Counters with one rule, as nothing but LDS data hangs on them."""


class WaitViolation(msgspec.Struct, frozen=True):
    """One access that comes before a memory operation has ended.

    ``access``: ``raw``, ``waw``, ``war``, ``ldsdma``, ``barrier``, ``sendmsg``. ``required`` is the largest
    count of ``counter`` that a wait before ``consumer`` (before ``barrier``, where there is one) may have,
    ``found`` the count of the last wait for that counter on ``path``, ``None`` when there is none.
    ``registers`` is the overlap. ``producers`` are all operations that the consumer needs on this counter,
    the one that decides first. ``certain`` is false where the race depends on which LDS addresses are used,
    or on a fact that no manual states.
    """

    access: str
    counter: str
    producers: tuple[Instruction, ...]
    consumer: Instruction
    required: int
    found: int | None
    found_at: Instruction | None
    registers: int
    certain: bool
    path: tuple[Instruction, ...]
    barrier: Instruction | None = None

    @property
    def rule(self) -> str:
        """Id of the violated rule."""
        if self.counter in _WHOLE_COUNTER and self.access in ("ldsdma", "barrier"):
            return f"wait.{self.counter}"
        return f"wait.{self.counter}.{self.access}"

    @property
    def producer(self) -> Instruction:
        """The operation that decides how far the wait must go."""
        return self.producers[0]


def wait_violations(memory: PendingMemory) -> tuple[WaitViolation, ...]:
    """Every violation of a function, one per consumer, counter and kind of access, in program order."""
    grouped: dict[tuple[int, int, str], list[Race]] = {}
    for race in (*memory.races, *lds_overwrites(memory)):
        grouped.setdefault((race.consumer, race.track, race.access), []).append(race)
    tracer = _Tracer(memory)
    return tuple(_violation(memory, group, tracer) for group in grouped.values())


def _violation(memory: PendingMemory, group: list[Race], tracer: _Tracer) -> WaitViolation:
    instructions = memory.function.instructions
    race = min(group, key=lambda one: (not one.certain, one.later, one.barrier < 0, one.producer))
    certain = [one for one in group if one.certain] or group
    registers = 0
    for one in certain:
        registers |= one.registers
    producers = dict.fromkeys([race.producer, *sorted(one.producer for one in certain)])
    indices = tracer.path(race)
    found, found_at = _last_wait(memory, race, indices)
    return WaitViolation(
        access=race.access,
        counter=memory.model.counters[race.track],
        producers=tuple(instructions[index] for index in producers),
        consumer=instructions[race.consumer],
        required=min(one.later for one in certain),
        found=found,
        found_at=None if found_at is None else instructions[found_at],
        registers=registers,
        certain=race.certain,
        path=tuple(instructions[index] for index in _shown(memory.function, indices, race)),
        barrier=instructions[race.barrier] if race.barrier >= 0 else None,
    )


def _last_wait(memory: PendingMemory, race: Race, indices: list[int]) -> tuple[int | None, int | None]:
    for index in reversed(indices):
        for track, count in memory.effects[index].waits:
            if track == race.track:
                return count, index
    return None, None


def _shown(function: Function, indices: list[int], race: Race) -> list[int]:
    """Of all instructions on the path: its ends, the barrier, and the last one of each block that it
    leaves."""
    shown = [race.producer]
    if race.barrier >= 0:
        shown.append(race.barrier)
    for index, following in pairwise(indices):
        if following != index + 1 and index not in (race.producer, race.consumer):
            shown.append(index)
    shown.append(race.consumer)
    return shown


class _Tracer:
    """Finds, for a race, a path on which the event is as young as the race says."""

    def __init__(self, memory: PendingMemory) -> None:
        self._memory = memory
        self._ends: dict[int, State | None] = {}
        self._left = TRACED_PATHS

    def path(self, race: Race) -> list[int]:
        """Indices of all instructions on the path from producer to consumer, both included."""
        if self._left <= 0 or race.barrier >= 0:
            return [race.producer, race.consumer]
        self._left -= 1
        memory = self._memory
        event = ~race.producer if race.access == "ldsdma" else race.producer
        goal = memory.function.block_of(race.consumer)
        home = memory.function.block_of(race.producer)
        if goal is home and race.producer < race.consumer:
            walk = self._from_producer(race.producer, race.consumer)
            events = walk.state().on(race.track)
            if event in events or ~event in events:
                return list(range(race.producer, race.consumer + 1))
        blocks = self._blocks_back(goal, home, event, race)
        if blocks is None:
            return [race.producer, race.consumer]
        found = list(range(race.producer, home.end))
        for block in blocks:
            found.extend(range(block.first, block.end))
        found.extend(range(goal.first, race.consumer + 1))
        return found

    def _from_producer(self, producer: int, end: int) -> Walk:
        memory = self._memory
        walk = Walk(memory.model, memory.effects, State({}, lds_empty=True))
        for index in range(producer, end):
            walk.step(index, memory.effects[index])
        return walk

    def _end(self, block: Block) -> State | None:
        if block.number not in self._ends:
            self._ends[block.number] = self._memory.state_after(block)
        return self._ends[block.number]

    def _blocks_back(self, goal: Block, home: Block, event: int, race: Race) -> list[Block] | None:
        """Blocks between ``home`` and ``goal`` along edges that carry the smallest number of later events."""
        all_blocks = self._memory.function.blocks
        born = self._from_producer(race.producer, home.end).state().on(race.track)
        at_birth = born.get(event, born.get(~event))
        came_from: dict[int, int] = {goal.number: -1}
        queue = [goal.number]
        for number in queue:
            start = self._memory.start_of(all_blocks[number])
            wanted = start.on(race.track).get(event) if start else None
            if wanted is None:
                continue
            for previous, end in self._edges_back(all_blocks[number], home):
                carried = end.on(race.track).get(event) if end else None
                if carried != wanted:
                    continue
                if previous == home.number and at_birth in (wanted, STUCK):
                    return self._chain(number, came_from)
                if previous not in came_from:
                    came_from[previous] = number
                    queue.append(previous)
        return None

    def _edges_back(self, block: Block, home: Block) -> Iterator[tuple[int, State | None]]:
        """The blocks that control comes from, each with what is in flight on the way. A subroutine is entered from its
        calls; it is left towards what is behind them where the path begins in it."""
        function = self._memory.function
        for previous in block.predecessors:
            yield previous, self._end(function.blocks[previous])
        if not function.in_subroutines:
            return
        if block.number in function.in_subroutines:
            for calling in function.blocks:
                if block.number in calling.entries:
                    yield calling.number, self._memory.state_at_call(calling)
        if home.number in function.in_subroutines:
            for previous in block.predecessors:
                for entry in function.blocks[previous].entries:
                    for one in sorted(function.subroutines[entry]):
                        if function.blocks[one].leaves == COMES_BACK:
                            yield one, self._end(function.blocks[one])

    def _chain(self, number: int, came_from: dict[int, int]) -> list[Block]:
        found = []
        while came_from[number] >= 0:
            found.append(self._memory.function.blocks[number])
            number = came_from[number]
        return found
