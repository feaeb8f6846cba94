"""What a kernel costs: every basic block, every loop (clk an iteration), and the longest way through."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import msgspec

from asmevo_gate.analysis.loops import Loop, loop_depths, natural_loops
from asmevo_gate.analysis.resources import kernel_resources
from asmevo_gate.cost.block import BlockCost, body_cost
from asmevo_gate.cost.body import Body, body_of, sequence_of, timed_body
from asmevo_gate.cost.explain import throughput_words, worst_case
from asmevo_gate.cost.figures import Figures, figures_of
from asmevo_gate.cost.interval import Cycles, low_of
from asmevo_gate.cost.load import Shared, share
from asmevo_gate.cost.open_memory import open_at_entry
from asmevo_gate.cost.subroutines import with_subroutines
from asmevo_gate.cost.timing import Timed, Timing, timing_for
from asmevo_gate.cost.ways import Ways
from asmevo_gate.program.model import Block, Function, Program


class BlockInKernel(msgspec.Struct, frozen=True):
    """A basic block at its place, lines 1-based. A block that is a loop by itself has the cost of one iteration.

    A conditional branch at its end counts as not taken; the ways through loops and the kernel add what taking costs.
    """

    number: int
    label: str
    line: int
    end_line: int
    loop_depth: int
    cost: BlockCost


class LoopCost(msgspec.Struct, frozen=True):
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


class KernelCost(msgspec.Struct, frozen=True, dict=True):
    """The cost of a kernel or device function at an occupancy of ``waves`` a SIMD.

    ``cycles`` are clk of the longest way from the entry to an end, every loop counted for one iteration: a figure
    for comparing two versions, not a run time. A call counts with the longest of the subroutines of the function that
    it may go to; code elsewhere does not count. ``unreached`` are blocks that no way leads to.
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
        self._blocks = function.blocks
        self._waves = max(1, occupancy or 1)
        self._timing: Timing = timing_for(function.target.name, function.wave_size)
        self._assumed = _assumed(function, self._timing, occupancy)
        self._timed = _timed(function, self._timing)
        self._lines = [_lines(function, block) for block in function.blocks]
        bodies = [self._body(block) for block in function.blocks]
        pending = open_at_entry(function, [body.sequence for body in bodies])
        self._costs = [
            body_cost(body, self._waves, pending=still_open) for body, still_open in zip(bodies, pending, strict=True)
        ]
        loads, taken = [cost.load for cost in self._costs], [self._taken_extra(block) for block in function.blocks]
        pipes = len(self._timing.pipe_names)
        if function.subroutines:
            loads = with_subroutines(function, loads, taken, pipes)
        self._ways = Ways(function.blocks, loads, taken, pipes)

    def _body(self, block: Block) -> Body:
        own_loop = block.number in block.successors
        if not self._function.understood:
            instructions = self._function.instructions[block.first : block.end]
            return body_of(instructions, self._timing, own_loop)
        return timed_body(self._instructions(block), range(block.first, block.end), self._timing, own_loop)

    def _instructions(self, block: Block) -> list[Timed]:
        """The understood instructions of a block."""
        timed = self._timed[block.first : block.end]
        return [one for one in timed if one is not None]

    def _taken_extra(self, block: Block) -> float:
        """What it costs more when the conditional branch at the end of a block is taken."""
        last = self._timed[block.end - 1]
        return last.step.taken_extra if last is not None and not last.step.always_taken else 0.0

    def kernel(self) -> KernelCost:
        function, called = self._function, self._function.in_subroutines
        loops = tuple(self._loop_costs())
        way = self._ways.longest(0, self._ways.order[::-1])
        load = self._ways.load(way)
        shared = share(load, self._timing, self._waves)
        depths = loop_depths(function.blocks)
        blocks = tuple(
            BlockInKernel(block.number, block.label, *lines, depth, cost)
            for block, lines, depth, cost in zip(function.blocks, self._lines, depths, self._costs, strict=True)
        )
        return KernelCost(
            function.name, function.target.name, function.wave_size, self._waves, blocks, loops, shared.cycles,
            shared.ipc, load.instructions, self._hottest(way, loops),
            tuple(dict.fromkeys(text for cost in self._costs for text in cost.not_modelled)),
            (*self._assumed, *dict.fromkeys(text for cost in self._costs for text in cost.assumptions)),
            tuple(number for number in range(len(blocks)) if number not in self._ways.place.keys() | called),
        )  # fmt: skip

    def _loop_costs(self) -> Iterator[LoopCost]:
        """The loops, outer ones first."""
        depths: list[int] = []
        for loop in natural_loops(self._blocks):
            depths.append(1 if loop.parent is None else depths[loop.parent] + 1)
            yield self._loop_cost(loop, depths[-1])

    def _loop_cost(self, loop: Loop, depth: int) -> LoopCost:
        straight = self._only_way(loop)
        if straight is not None:
            figures = self._steady(straight)
            shared, limited_by = figures.shared, figures.limited_by
            instructions, shortest = figures.load.instructions, shared.cycles
        else:
            backwards = self._ways.backwards(loop.blocks)
            latches = {number for number in loop.blocks if loop.header in self._blocks[number].successors}
            way = self._ways.longest(loop.header, backwards, latches)
            load = self._ways.load(way, loop.header)
            shared, instructions = share(load, self._timing, self._waves), load.instructions
            short = self._ways.shortest(loop.header, backwards, latches)
            shortest = shared.cycles
            if short != way:
                shortest = share(self._ways.load(short, loop.header), self._timing, self._waves).cycles
            limited_by = self._words(shared, way)
        lines = [self._lines[number] for number in loop.blocks]
        return LoopCost(
            self._blocks[loop.header].label, min(first for first, _ in lines), max(last for _, last in lines), depth,
            tuple(sorted(loop.blocks)), loop.parent, instructions, shared.cycles, shortest, shared.ipc, limited_by,
            straight is not None,
        )  # fmt: skip

    def _words(self, shared: Shared, way: list[int]) -> str:
        """What decides a sum over the blocks of a way: a pipe, or else what decides its longest block."""
        worst = worst_case(shared)
        best = throughput_words(shared, self._timing, self._waves)
        if not best:
            best = self._costs[self._longest_block(way)].limited_by.rpartition("; ")[2].removesuffix(" at best")
        return f"{worst} at worst; {best} at best" if worst else best

    def _longest_block(self, way: Collection[int]) -> int:
        return max(way, key=lambda number: self._costs[number].load.low)

    def _only_way(self, loop: Loop) -> list[int] | None:
        """The blocks of a loop in order when each has one successor inside; ``None`` when ways part in it."""
        way = [loop.header]
        while True:
            inside = [number for number in self._blocks[way[-1]].successors if number in loop.blocks]
            if len(inside) != 1 or self._blocks[way[-1]].entries:
                return None
            if inside[0] == loop.header:
                return way if len(way) == len(loop.blocks) else None
            if inside[0] in way:
                return None
            way.append(inside[0])

    def _steady(self, way: Sequence[int]) -> Figures:
        """One iteration of a loop whose body is the way, in steady state."""
        timed = self._instructions(self._blocks[way[0]])
        taken = []
        for number, following in pairwise(way):
            if self._blocks[following].first != self._blocks[number].end:
                taken.append(len(timed) - 1)
            timed += self._instructions(self._blocks[following])
        # A block that is a loop by itself has this sequence already.
        return figures_of(sequence_of(timed, self._timing, True, tuple(taken)), self._waves)

    def _hottest(self, way: list[int], loops: tuple[LoopCost, ...]) -> str:
        """Where the time goes, in words."""
        if loops:
            hot = max(loops, key=lambda loop: (loop.depth, low_of(loop.cycles)))
            return f"loop at line {hot.line}: {hot.limited_by}"
        if not way:
            return "nothing: no instruction"
        worst = self._longest_block(way)
        return f"block at line {self._lines[worst][0]}: {self._costs[worst].limited_by}"


def _timed(function: Function, timing: Timing) -> list[Timed | None]:
    """Each instruction with its step; ``None`` where it has no meaning."""
    timed = {text: timing.timed(decoded) for text, decoded, _ in function.spellings if decoded is not None}
    return [timed.get(one.statement.text) for one in function.instructions]


def _lines(function: Function, block: Block) -> tuple[int, int]:
    """First and last line of a block, whichever way round macros left them."""
    first = function.instructions[block.first].statement.outer_place.line
    last = function.instructions[block.end - 1].statement.outer_place.line
    return (first, last) if first <= last else (last, first)


def _assumed(function: Function, timing: Timing, occupancy: int | None) -> tuple[str, ...]:
    """What the whole cost rests on besides single instructions."""
    found = []
    if occupancy is None:
        found.append("occupancy is not known; taken as one wave a SIMD")
    if function.subroutines:
        found.append("a call counts with the longest of the subroutines that it may go to")
    if function.calls_outside:
        found.append("called code outside of the function does not count")
    if timing.fingerprint.target != function.target.name:
        found.append(f"timing of {timing.fingerprint.target} stands in for {function.target.name}")
    return tuple(found)
