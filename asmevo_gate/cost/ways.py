"""Ways through the blocks of a function along forward edges: the longest, the shortest, and what one costs.

A back edge is taken at most at the end, so that a way counts every loop for one iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import add

from asmevo_gate.analysis.loops import reverse_postorder
from asmevo_gate.cost.load import Load
from asmevo_gate.program.model import Block


class Ways:
    """The ways through the blocks of one function.

    ``loads`` are those of the blocks with their last branch not taken, ``taken`` the clk more with it taken.
    """

    def __init__(self, blocks: Sequence[Block], loads: Sequence[Load], taken: Sequence[float], pipes: int) -> None:
        self._blocks = blocks
        self._loads = loads
        self._taken = taken
        self._no_use = (0.0,) * pipes
        self.order = reverse_postorder(tuple(blocks))
        """The blocks that a way leads to, each in front of those that forward edges lead to."""
        self.place = {number: place for place, number in enumerate(self.order)}
        self._own = [load.low + load.high for load in loads]
        self._onward = [self._forward_edges(block) for block in blocks]

    def _forward_edges(self, block: Block) -> list[tuple[int, float]]:
        """The blocks that forward edges lead to, with the clk that taking the edge adds at both ends together."""
        here = self.place.get(block.number, len(self.order))
        return [
            (following, 2 * self._taken_extra(block, following))
            for following in block.successors
            if self.place.get(following, -1) > here
        ]

    def _taken_extra(self, block: Block, following: int) -> float:
        """What it costs to leave a block by a taken conditional branch."""
        if self._blocks[following].first == block.end or following == block.number:
            return 0.0  # not taken, or already in the cost of the block
        return self._taken[block.number]

    def load(self, way: Sequence[int], back_to: int | None = None) -> Load:
        """Sum over the blocks of a way and its taken branches, at the end ``back_to`` a loop's header."""
        low = high = moved = 0.0
        use = self._no_use
        instructions = 0
        for number, following in zip(way, [*way, back_to][1:], strict=True):
            load = self._loads[number]
            extra = self._taken_extra(self._blocks[number], following) if following is not None else 0.0
            low = low + load.low + extra
            high = high + load.high + extra
            use = tuple(map(add, use, load.use))
            moved += load.bytes
            instructions += load.instructions
        return Load(low, high, use, moved, instructions)

    def backwards(self, members: Iterable[int]) -> list[int]:
        """Those of the blocks that a way leads to, each behind those that forward edges lead to."""
        place = self.place
        return sorted((number for number in members if number in place), key=place.__getitem__, reverse=True)

    def longest(self, start: int, backwards: Sequence[int], ends: Collection[int] | None = None) -> list[int]:
        """The longest way from ``start`` to one of ``ends`` inside the blocks that :meth:`backwards` gave.

        Without ``ends`` a way ends at a block that no forward edge leaves.
        """
        return self._way(start, backwards, ends, 1.0)

    def shortest(self, start: int, backwards: Sequence[int], ends: Collection[int]) -> list[int]:
        """The shortest of the same ways."""
        return self._way(start, backwards, ends, -1.0)

    def _way(self, start: int, backwards: Sequence[int], ends: Collection[int] | None, sign: float) -> list[int]:
        best: dict[int, tuple[float, int | None]] = {}
        for number in backwards:
            value: float | None = None
            onward: int | None = None
            for following, extra in self._onward[number]:
                if following in best:
                    behind = best[following][0] + sign * extra
                    if value is None or behind > value:
                        value, onward = behind, following
            may_end = number in ends if ends is not None else value is None
            if may_end and (value is None or value < 0.0):
                value, onward = 0.0, None
            if value is not None:
                best[number] = (value + sign * self._own[number], onward)
        way = []
        current: int | None = start if start in best else None
        while current is not None:
            way.append(current)
            current = best[current][1]
        return way
