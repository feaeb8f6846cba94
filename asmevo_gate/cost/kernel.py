"""What a kernel costs: every basic block, every loop (clk an iteration), and the longest way through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from asmevo_gate.analysis.loops import Loop, loop_depths, natural_loops, reverse_postorder
from asmevo_gate.analysis.resources import kernel_resources
from asmevo_gate.cost.block import BlockCost, body_cost
from asmevo_gate.cost.body import Body
from asmevo_gate.cost.explain import throughput_words, worst_case
from asmevo_gate.cost.interval import Cycles, low_of
from asmevo_gate.cost.load import Load, Shared, share
from asmevo_gate.cost.timing import Timing, timing_for
from asmevo_gate.program.model import Block, Function, Program


@dataclass(frozen=True)
class BlockInKernel:
    """A basic block at its place, lines 1-based. A block that is a loop by itself has the cost of one iteration.

    A conditional branch at its end counts as not taken; the ways through loops and the kernel add what taking costs.
    """

    number: int
    label: str
    line: int
    end_line: int
    loop_depth: int
    cost: BlockCost


@dataclass(frozen=True)
class LoopCost:
    """One natural loop: clk for one iteration of every wave, along the longest way through its body.

    ``exact`` is true when the body is one straight way, simulated in steady state over several iterations; otherwise
    the blocks of the longest way are added up. ``shortest`` is the same for the shortest way. Trip counts are not
    known: a loop inside is counted for one iteration.
    """

    label: str
    line: int
    end_line: int
    depth: int
    blocks: tuple[int, ...]
    parent: int | None
    """Index of the loop around it in :attr:`KernelCost.loops`."""
    instructions: int
    """Instructions on the longest way."""
    cycles: Cycles
    shortest: Cycles
    ipc: Cycles
    limited_by: str
    exact: bool


@dataclass(frozen=True)
class KernelCost:
    """The cost of a kernel or device function at an occupancy of ``waves`` a SIMD.

    ``cycles`` are clk of the longest way from the entry to an end, every loop counted for one iteration: a figure
    for comparing two versions, not a run time. ``unreached`` are blocks that no way leads to.
    """

    name: str
    target: str
    wave_size: int
    waves: int
    blocks: tuple[BlockInKernel, ...]
    loops: tuple[LoopCost, ...]
    cycles: Cycles
    ipc: Cycles
    instructions: int
    """Instructions on the longest way."""
    limited_by: str
    not_modelled: tuple[str, ...]
    assumptions: tuple[str, ...]
    unreached: tuple[int, ...]

    @cached_property
    def hot_loop(self) -> LoopCost | None:
        """The innermost loop that takes most clk an iteration: where a kernel usually spends its time."""
        deepest = [
            loop for index, loop in enumerate(self.loops) if not any(inner.parent == index for inner in self.loops)
        ]
        return max(deepest, key=lambda loop: low_of(loop.cycles), default=None)


def program_costs(program: Program) -> tuple[KernelCost, ...]:
    """The cost of every kernel and device function of a file, each at its own occupancy.

    Raises:
        UsageError: there is no fingerprint for the target.
    """
    return tuple(kernel_cost(function) for function in program.functions)


def kernel_cost(function: Function, occupancy: int | None = None) -> KernelCost:
    """The cost of every block and loop of a function, and of the longest way through it.

    Args:
        occupancy: waves on each SIMD; what the function's descriptor allows when not given, one where that is not
            known (the result says so).

    Raises:
        UsageError: there is no fingerprint for the target.
    """
    if occupancy is None:
        occupancy = kernel_resources(function).occupancy_waves_per_simd
    return _Costs(function, occupancy).kernel()


class _Costs:
    def __init__(self, function: Function, occupancy: int | None) -> None:
        self._function = function
        self._waves = max(1, occupancy or 1)
        self._timing: Timing = timing_for(function.target.name, function.wave_size)
        self._assumed = _assumed(function, self._timing, occupancy)
        self._loops = natural_loops(function.blocks)
        self._order = reverse_postorder(function.blocks)
        self._place = {number: place for place, number in enumerate(self._order)}
        pending = _pending_at_entry(function, self._timing)
        self._costs = [self._block_cost(block, pending[block.number]) for block in function.blocks]

    def _block_cost(self, block: Block, pending: Mapping[str, float]) -> BlockCost:
        instructions = self._function.instructions[block.first : block.end]
        own_loop = block.successors.count(block.number) > 0
        body = Body(instructions, self._timing, own_loop)
        return body_cost(body, self._waves, pending=pending)

    def kernel(self) -> KernelCost:
        function = self._function
        loops = tuple(self._loop_cost(loop) for loop in self._loops)
        way = self._longest(0, set(self._order)) if self._order else []
        load = self._along(way)
        shared = share(load, self._timing, self._waves)
        depths = loop_depths(function.blocks)
        blocks = tuple(
            BlockInKernel(block.number, block.label, *self._lines([block.number]), depths[block.number], cost)
            for block, cost in zip(function.blocks, self._costs, strict=True)
        )
        return KernelCost(
            function.name, function.target.name, function.wave_size, self._waves, blocks, loops, shared.cycles,
            shared.ipc, load.instructions, self._hottest(way, loops),
            tuple(dict.fromkeys(text for cost in self._costs for text in cost.not_modelled)),
            (*self._assumed, *dict.fromkeys(text for cost in self._costs for text in cost.assumptions)),
            tuple(block.number for block in function.blocks if block.number not in self._place),
        )  # fmt: skip

    def _lines(self, numbers: Iterable[int]) -> tuple[int, int]:
        """First and last line of the blocks."""
        statements = [
            self._function.instructions[index].statement
            for number in numbers
            for index in (self._function.blocks[number].first, self._function.blocks[number].end - 1)
        ]
        lines = [statement.outer_place.line for statement in statements]
        return min(lines), max(lines)

    def _loop_cost(self, loop: Loop) -> LoopCost:
        members = set(loop.blocks)
        header = self._function.blocks[loop.header]
        straight = self._only_way(loop)
        if straight is not None:
            cost = self._steady(straight)
            shortest, load, limited_by = cost.cycles, cost.load, cost.limited_by
            shared = share(load, self._timing, self._waves)
        else:
            latches = {n for n in members if loop.header in self._function.blocks[n].successors}
            way = self._longest(loop.header, members, latches)
            load = self._along(way, back_to=loop.header)
            shared = share(load, self._timing, self._waves)
            short = self._along(self._shortest(loop.header, members, latches), back_to=loop.header)
            shortest = share(short, self._timing, self._waves).cycles
            limited_by = self._words(shared, way)
        return LoopCost(
            header.label, *self._lines(members), self._depth(loop), tuple(sorted(members)), loop.parent,
            load.instructions, shared.cycles, shortest, shared.ipc, limited_by, straight is not None,
        )  # fmt: skip

    def _words(self, shared: Shared, way: list[int]) -> str:
        """What decides a sum over the blocks of a way: a pipe, or else what decides its longest block."""
        worst = worst_case(shared)
        best = throughput_words(shared, self._timing, self._waves)
        if not best:
            longest = max(way, key=lambda number: self._costs[number].load.low)
            best = self._costs[longest].limited_by.rpartition("; ")[2].removesuffix(" at best")
        return f"{worst} at worst; {best} at best" if worst else best

    def _depth(self, loop: Loop) -> int:
        depth, parent = 1, loop.parent
        while parent is not None:
            depth, parent = depth + 1, self._loops[parent].parent
        return depth

    def _only_way(self, loop: Loop) -> list[int] | None:
        """The blocks of a loop in order when each has one successor inside; ``None`` when ways part in it."""
        way = [loop.header]
        while True:
            inside = [number for number in self._function.blocks[way[-1]].successors if number in loop.blocks]
            if len(inside) != 1:
                return None
            if inside[0] == loop.header:
                return way if len(way) == len(loop.blocks) else None
            if inside[0] in way:
                return None
            way.append(inside[0])

    def _steady(self, way: list[int]) -> BlockCost:
        """One iteration of a loop whose body is the way, in steady state."""
        if len(way) == 1:
            return self._costs[way[0]]
        function = self._function
        instructions = [
            instruction
            for number in way
            for instruction in function.instructions[function.blocks[number].first : function.blocks[number].end]
        ]
        taken = []
        position = 0
        for number, following in zip(way, [*way[1:], way[0]], strict=True):
            block = function.blocks[number]
            position += sum(1 for i in function.instructions[block.first : block.end] if i.decoded is not None)
            if function.blocks[following].first != block.end:
                taken.append(position - 1)
        return body_cost(Body(instructions, self._timing, True, taken), self._waves)

    def _taken_extra(self, block: Block, following: int) -> float:
        """What it costs to leave a block by a taken conditional branch."""
        if self._function.blocks[following].first == block.end:
            return 0.0
        last = self._function.instructions[block.end - 1].decoded
        if last is None:
            return 0.0
        step = self._timing.step(last)
        if step.always_taken or block.number == following:
            return 0.0  # already in the cost of the block
        return step.taken_extra

    def _along(self, way: list[int], back_to: int | None = None) -> Load:
        """Sum over the blocks of a way and its taken branches, at the end ``back_to`` a loop's header."""
        total = Load(0.0, 0.0, (0.0,) * len(self._timing.pipe_names), 0.0, 0)
        for number, following in zip(way, [*way, back_to][1:], strict=True):
            total = total.plus(self._costs[number].load)
            if following is not None:
                total = total.delayed(self._taken_extra(self._function.blocks[number], following))
        return total

    def _longest(self, start: int, members: set[int], ends: set[int] | None = None) -> list[int]:
        return self._way(start, members, ends, longest=True)

    def _shortest(self, start: int, members: set[int], ends: set[int] | None = None) -> list[int]:
        return self._way(start, members, ends, longest=False)

    def _way(self, start: int, members: set[int], ends: set[int] | None, *, longest: bool) -> list[int]:
        """The longest or shortest way from ``start`` to one of ``ends`` along forward edges inside ``members``.

        Without ``ends`` a way ends at a block that no forward edge leaves.
        """
        blocks = self._function.blocks
        sign = 1.0 if longest else -1.0
        best: dict[int, tuple[float, int | None]] = {}
        for number in sorted(members & self._place.keys(), key=self._place.__getitem__, reverse=True):
            own = self._costs[number].load.low + self._costs[number].load.high
            onward = [
                (best[following][0] + sign * 2 * self._taken_extra(blocks[number], following), following)
                for following in blocks[number].successors
                if following in best and self._place[following] > self._place[number]
            ]
            may_end = number in ends if ends is not None else not onward
            choices: list[tuple[float, int | None]] = list(onward)
            if may_end:
                choices.append((0.0, None))
            if choices:
                value, following_block = max(choices, key=lambda choice: choice[0])
                best[number] = (value + sign * own, following_block)
        way = []
        current: int | None = start if start in best else None
        while current is not None:
            way.append(current)
            current = best[current][1]
        return way

    def _hottest(self, way: list[int], loops: tuple[LoopCost, ...]) -> str:
        """Where the time goes, in words."""
        if loops:
            hot = max(loops, key=lambda loop: (loop.depth, low_of(loop.cycles)))
            return f"loop at line {hot.line}: {hot.limited_by}"
        if not way:
            return "nothing: no instruction"
        worst = max(way, key=lambda number: self._costs[number].load.low)
        return f"block at line {self._lines([worst])[0]}: {self._costs[worst].limited_by}"


def _assumed(function: Function, timing: Timing, occupancy: int | None) -> tuple[str, ...]:
    """What the whole cost rests on besides single instructions."""
    found = []
    if occupancy is None:
        found.append("occupancy is not known; taken as one wave a SIMD")
    if timing.fingerprint.target != function.target.name:
        found.append(f"timing of {timing.fingerprint.target} stands in for {function.target.name}")
    return tuple(found)


def _pending_at_entry(function: Function, timing: Timing) -> list[dict[str, float]]:
    """For each block the memory counters that may be open when it starts, with their longest operation in clk."""
    longest: dict[int, float] = {}
    raises: list[int] = []
    clears: list[int] = []
    for block in function.blocks:
        raised = cleared = 0
        for instruction in function.instructions[block.first : block.end]:
            if instruction.decoded is None:
                continue
            step = timing.step(instruction.decoded)
            for counter in step.counters:
                raised |= 1 << counter
                longest[counter] = max(longest.get(counter, 0.0), step.longest)
            for counter, limit in step.limits:
                if limit == 0:
                    raised &= ~(1 << counter)
                    cleared |= 1 << counter
        raises.append(raised)
        clears.append(cleared)
    entry = [0] * len(function.blocks)
    work = list(range(len(function.blocks)))
    while work:
        number = work.pop()
        leaves = (entry[number] & ~clears[number]) | raises[number]
        for following in function.blocks[number].successors:
            if leaves & ~entry[following]:
                entry[following] |= leaves
                work.append(following)
    return [
        {timing.counter_names[counter]: clk for counter, clk in longest.items() if bits >> counter & 1}
        for bits in entry
    ]
