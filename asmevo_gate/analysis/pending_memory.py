"""Memory operations that may be in flight before each instruction of a function, and what is done too
early."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

import msgspec

from asmevo_gate.analysis.counters import CounterModel, Effect, counter_model
from asmevo_gate.analysis.function_effects import function_effects
from asmevo_gate.analysis.loops import postorder_ranks
from asmevo_gate.analysis.pending_feasibility import Feasibility
from asmevo_gate.analysis.pending_state import STUCK, Events, Race, Report, State
from asmevo_gate.analysis.pending_subroutines import Subroutines
from asmevo_gate.analysis.pending_walk import Walk
from asmevo_gate.errors import LimitError
from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import RETURN, Block, Function, Instruction

WORK_LIMIT = 50_000_000
"""Largest number of steps (instructions walked plus events merged) for one function."""


class Pending(msgspec.Struct, frozen=True):
    """An event that may be in flight.

    ``count`` is the largest wait count of ``counter`` that surely ends it. ``only_zero``: the counter ends it
    in no known order, so that ``count`` is 0 whatever was issued later. ``registers`` are not there yet,
    ``locked`` may still be read.
    """

    producer: Instruction
    counter: str
    count: int
    only_zero: bool
    registers: int
    locked: int


class WaitExplanation(msgspec.Struct, frozen=True):
    """What one wait instruction really waits for.

    ``limits`` are its counters with their counts. ``completed`` were possibly in flight before and surely are
    not afterwards; ``still_pending`` are the events of the same counters that may remain. ``unknown`` says
    why nothing can be said.
    """

    limits: dict[str, int]
    completed: tuple[Pending, ...]
    still_pending: tuple[Pending, ...]
    unknown: str = ""


class PendingMemory:
    """Result of the data flow over one function; see :func:`pending_memory`.

    ``races`` are the violations found, in program order. ``not_modelled`` lists (instruction index, reason):
    behind such an instruction the analysis assumes what cannot lead to a wrong report. ``found_by_wait`` has for each
    instruction that does nothing but wait the events that it finds in flight, by track.
    """

    def __init__(
        self,
        function: Function,
        work_limit: int = WORK_LIMIT,
        effects: list[Effect] | None = None,
        below: PendingMemory | None = None,
    ) -> None:
        """``below`` is the result for effects whose waits end at least as much as those of ``effects``: its fixed point
        lies below the one looked for, and the data flow goes on from there."""
        self.function = function
        self.model: CounterModel = counter_model(function.target)
        if below is None:
            its_own, self._moves = function_effects(function, self.model)
        else:
            its_own, self._moves = below.effects, below._moves
        self.effects: list[Effect] = effects or its_own
        self.found_by_wait: dict[int, dict[int, Events]] = {}
        self._work_limit = work_limit
        self._work = 0
        self._at_start: list[State | None] = [None] * len(function.blocks)
        self._races_in: dict[int, list[Race]] = {}
        self._ranks = postorder_ranks(function.blocks)
        self._subroutines = Subroutines(function, self._ranks, self._leave)
        if below is None:
            self._solve()
        else:
            self._go_on_from(below)

    @cached_property
    def races(self) -> tuple[Race, ...]:
        """Every race, once per (consumer, producer, counter, access), in program order. Paths whose branches
        contradict each other do not count."""
        possible = Feasibility(self.function, self.model, self.effects).possible
        return tuple(race for race in self.races_of_graph if possible(race))

    @cached_property
    def races_of_graph(self) -> tuple[Race, ...]:
        """Every race on a path of the control-flow graph, whatever its branches test."""
        found: dict[tuple[int, int, int, str, int], Race] = {}

        def report(race: Race) -> None:
            key = (race.consumer, race.producer, race.track, race.access, race.barrier)
            known = found.get(key)
            if known is None or (race.certain, -race.later) > (known.certain, -known.later):
                found[key] = race

        for races in self._races_in.values():
            for race in races:
                report(race)
        return tuple(found[key] for key in sorted(found))

    def _check_return(self, index: int, state: State, report: Report) -> None:
        """Results in flight at the return of a device function: by convention the caller does not wait for them."""
        for track in range(len(self.model.counters)):
            for producer, later in state.on(track).items():
                holds = next((one.holds for one in self.effects[producer].events if one.track == track), 0)
                if producer >= 0 and holds:
                    report(Race("return", track, producer, index, max(later, 0), holds, certain=False))

    @cached_property
    def not_modelled(self) -> tuple[tuple[int, str], ...]:
        """Instructions whose effect on what is in flight is not known, with the reason."""
        found = []
        for index, effect in enumerate(self.effects):
            reason = effect.unknown or effect.not_modelled
            if reason:
                found.append((index, reason))
        for block in self.function.blocks:
            if block.lost:
                found.append((block.end - 1, f"where control goes is not known: {block.lost}"))
        return tuple(sorted(found))

    @cached_property
    def unknown(self) -> list[int]:
        """Instructions behind which nothing is known of what is in flight."""
        return [index for index in self._moves if self.effects[index].unknown]

    @cached_property
    def unknown_waits(self) -> tuple[tuple[int, str], ...]:
        """Waits whose counts are not known, with the reason: what they should cover is not checked."""
        return tuple(
            (index, self.effects[index].unknown)
            for index in self.unknown
            if self.effects[index].kind == "" and self._is_wait(index)
        )

    def _is_wait(self, index: int) -> bool:
        decoded = self.function.instructions[index].decoded
        return decoded is not None and decoded.of(Op.WAIT)

    def before(self, index: int) -> tuple[Pending, ...]:
        """What may be in flight before an instruction; empty in code that cannot be reached."""
        state = self.state_before(index)
        return self._described(state) if state else ()

    def explain_wait(self, index: int) -> WaitExplanation:
        """What the wait at ``index`` covers."""
        effect = self.effects[index]
        if effect.unknown:
            return WaitExplanation({}, (), (), effect.unknown)
        counters = len(self.model.counters)
        limits = {self.model.counters[track]: count for track, count in effect.waits if track < counters}
        state = self.state_before(index)
        if state is None:
            return WaitExplanation(limits, (), (), "no path from the entry leads here")
        walk = Walk(self.model, self.effects, state)
        walk.step(index, effect)
        before, after = self._described(state), self._described(walk.state())
        left = {(one.producer.index, one.counter) for one in after}
        completed = tuple(one for one in before if (one.producer.index, one.counter) not in left)
        return WaitExplanation(limits, completed, tuple(one for one in after if one.counter in limits))

    def state_before(self, index: int) -> State | None:
        """The abstract state before an instruction, ``None`` in code that cannot be reached."""
        block = self.function.block_of(index)
        start = self.start_of(block)
        if start is None:
            return None
        walk = Walk(self.model, self.effects, start)
        for position in self.moves(block.first, index):
            walk.step(position, self.effects[position])
        return walk.state()

    def moves(self, first: int, end: int) -> list[int]:
        """The instructions from ``first`` to ``end`` that may change what is in flight or need something that is."""
        return self._moves[bisect_left(self._moves, first) : bisect_left(self._moves, end)]

    def state_after(self, block: Block, start: State | None = None) -> State | None:
        """The abstract state at the end of a block, behind the call there, from its fixed point or a given state."""
        start = start or self.start_of(block)
        return None if start is None else self._leave(block, start)

    def state_at_call(self, block: Block) -> State | None:
        """The abstract state with which the subroutines that the end of a block calls begin."""
        start = self.start_of(block)
        return None if start is None else self._behind(block, start)

    def start_of(self, block: Block) -> State | None:
        """The abstract state at the start of a block, over all calls where it is part of a subroutine."""
        main, called = self._at_start[block.number], self._subroutines.at_start.get(block.number)
        return called if main is None else main if called is None else main.joined(called)

    def _described(self, state: State) -> tuple[Pending, ...]:
        found = []
        for track, counter in enumerate(self.model.counters):
            for index, later in state.on(track).items():
                if index >= 0:
                    event = next(one for one in self.effects[index].events if one.track == track)
                    producer = self.function.instructions[index]
                    stuck = later == STUCK
                    count = 0 if stuck else later
                    found.append(Pending(producer, counter, count, stuck, event.holds, event.locks))
        found.sort(key=lambda one: (one.counter, one.producer.index))
        return tuple(found)

    def _behind(self, block: Block, start: State, report: Report | None = None) -> State:
        """The state behind a block. With ``report``, what its waits find is noted as well."""
        moves = self.moves(block.first, block.end)
        if not moves:
            return start
        walk = Walk(self.model, self.effects, start)
        step = walk.step
        for index in moves:
            effect = self.effects[index]
            if effect.active or effect.touches & walk.holds or effect.writes & walk.locks:
                if report and effect.waits and not effect.touches and block.number not in self.function.in_subroutines:
                    self.found_by_wait[index] = walk.found_by(effect.waits)
                step(index, effect, report)
        return walk.state()

    def _leave(self, block: Block, start: State, report: Report | None = None) -> State | None:
        """The state at the end of a block, behind the call there; ``None`` when that never comes back."""
        end = self._behind(block, start, report)
        self._work += block.end - block.first + 1 if report else 0
        if self._work > self._work_limit:
            raise LimitError(
                f"'{self.function.name}' has too many memory operations in flight on too many paths: "
                f"more than {self._work_limit} steps",
                "split the function, or raise the work limit of the counter analysis",
            )
        return self._subroutines.pass_through(block, end, report) if block.entries else end

    def _solve(self) -> None:
        """Worklist in reverse postorder; see :mod:`pending_state` for why it ends."""
        blocks = self.function.blocks
        if not blocks:
            return
        self._at_start[0] = State({}, lds_empty=self.function.is_kernel)
        self._run([0])
        if any(block.lost for block in blocks):
            for block in blocks:
                if self.start_of(block) is None and not block.predecessors:
                    self._at_start[block.number] = State({})
                    self._run([block.number])

    def _go_on_from(self, below: PendingMemory) -> None:
        self._at_start = list(below._at_start)
        self._races_in = dict(below._races_in)
        self.found_by_wait = dict(below.found_by_wait)
        self._subroutines.at_start = dict(below._subroutines.at_start)  # what they do has not changed
        changed = [
            block.number
            for block in self.function.blocks
            if self._at_start[block.number] is not None
            and self.effects[block.first : block.end] != below.effects[block.first : block.end]
        ]
        self._run(changed)

    def _run(self, pending: list[int]) -> None:
        import heapq

        rank = self._ranks
        blocks = self.function.blocks
        queue = sorted((rank[number], number) for number in pending)
        queued = set(pending)
        while queue:
            _, number = heapq.heappop(queue)
            queued.discard(number)
            block = blocks[number]
            start = self._at_start[number]
            assert start is not None
            races: list[Race] = []
            end = self._leave(block, start, races.append)
            self._races_in[number] = races  # of the last walk, which starts with what the fixed point holds
            if end is None:
                continue
            if block.leaves == RETURN and not self.function.is_kernel:
                self._check_return(block.end - 1, end, races.append)
            size = end.size()
            for successor in block.successors:
                known = self._at_start[successor]
                self._work += size
                joined = end if known is None else known.joined(end)
                if joined is known:
                    continue
                self._at_start[successor] = joined
                if successor not in queued:
                    queued.add(successor)
                    heapq.heappush(queue, (rank[successor], successor))


def pending_memory(function: Function) -> PendingMemory:
    """What memory operations may be in flight before each instruction of a function.

    Raises:
        LimitError: the function needs more than :data:`WORK_LIMIT` steps.
    """
    return PendingMemory(function)
