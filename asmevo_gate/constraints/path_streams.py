"""Control flow as a stream of places: the function in program order, and every other way into a block.

A stream is cut in segments; inside a segment each place follows the one before it on some path. The first segments
are the function itself, cut where control does not fall through. For every jump into a block a segment holds the
end of each path that leads to it and the start of what follows, as far as any edge can reach.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from asmevo_gate.program.columns import Numbers
from asmevo_gate.program.model import Function

_MOST_PATHS = 128


class TooManyPaths(Exception):
    """The paths into a block are too many to be listed."""


@dataclass(frozen=True)
class Stream:
    """``place`` is the index of an instruction, ``segment`` its segment, ``judged`` 1 where consumers count."""

    place: Numbers
    segment: Numbers
    judged: Numbers


class _Measure:
    """Distances along the program: for each unit what lies before each instruction."""

    def __init__(self, weights: list[Numbers], reach: list[int], stops: Numbers) -> None:
        self.before: list[list[int]] = [[0, *np.cumsum(column).tolist()] for column in weights]
        self.reach = reach
        self.stops: list[int] = np.flatnonzero(stops).tolist()

    def back(self, first: int, end: int, left: list[int]) -> tuple[int, list[int], bool]:
        """Walk back from ``end`` (exclusive) to ``first``: where the walk stops, what is left of each distance
        there, and whether it is over."""
        start = end
        for before, distance in zip(self.before, left, strict=True):
            # The last place from which the distance to ``end`` is used up.
            start = min(start, bisect_right(before, before[end] - distance) - 1)
        over = start >= first
        start = max(start, first)
        place = bisect_left(self.stops, end) - 1
        if place >= 0 and self.stops[place] >= start:
            start, over = self.stops[place], True
        rest = [
            max(distance - (before[end] - before[start]), 0) for before, distance in zip(self.before, left, strict=True)
        ]
        return start, rest, over

    def forward(self, first: int, end: int) -> int:
        """The first place from ``first`` on that no edge reaches back from, at most ``end``."""
        place = first
        for before, distance in zip(self.before, self.reach, strict=True):
            place = max(place, bisect_left(before, before[first] + distance))
        return min(place, end)


def streams(function: Function, weights: list[Numbers], reach: list[int], stops: Numbers) -> Stream:
    """The stream of a function. ``weights`` holds for each unit what each instruction counts, ``reach`` for each unit
    the largest distance, ``stops`` is not 0 at instructions behind which no hazard is followed.

    Raises:
        TooManyPaths: listing all paths would cost more than walking them.
    """
    count = len(function.instructions)
    measure = _Measure(weights, reach, stops)
    chain_ends = _chain_ends(function)
    starts: list[int] = []
    sizes: list[int] = []
    segments: list[int] = []
    heads: list[int] = []
    number = len(function.blocks)
    budget = 4 * count + 4000
    for block in function.blocks:
        for predecessor in block.predecessors:
            if predecessor == block.number - 1:
                continue
            head = measure.forward(block.first, chain_ends[block.number])
            for tail in _tails(function, predecessor, measure):
                for first, end in (*tail, (block.first, head)):
                    starts.append(first)
                    sizes.append(end - first)
                    segments.append(number)
                    heads.append(0)
                    budget -= end - first
                heads[-1] = 1
                number += 1
                if budget < 0:
                    raise TooManyPaths
    length = np.array(sizes, dtype=np.int64)
    offset = np.arange(length.sum(), dtype=np.int64) - np.repeat(np.cumsum(length) - length, length)
    return Stream(
        np.concatenate([np.arange(count, dtype=np.int64), np.repeat(np.array(starts, np.int64), length) + offset]),
        np.concatenate([_program_order(function), np.repeat(np.array(segments, np.int64), length)]),
        np.concatenate([np.ones(count, np.int64), np.repeat(np.array(heads, np.int64), length)]),
    )


def _chain_ends(function: Function) -> list[int]:
    """For each block, where the run of blocks that fall through from it ends."""
    ends = [block.end for block in function.blocks]
    for block in reversed(function.blocks[:-1]):
        if block.number in function.blocks[block.number + 1].predecessors:
            ends[block.number] = ends[block.number + 1]
    return ends


def _program_order(function: Function) -> Numbers:
    segment = 0
    numbers: list[int] = []
    sizes: list[int] = []
    for block in function.blocks:
        if block.number and block.number - 1 not in block.predecessors:
            segment += 1
        numbers.append(segment)
        sizes.append(block.end - block.first)
    return np.repeat(np.array(numbers, dtype=np.int64), np.array(sizes, dtype=np.int64))


_Tail = tuple[int, list[int], list[tuple[int, int]], frozenset[tuple[int, tuple[int, ...]]]]
"""Block, distances left, intervals so far, and (block, distances left) passed on the way."""


def _tails(function: Function, number: int, measure: _Measure) -> list[list[tuple[int, int]]]:
    """Every path that ends with a block, as intervals of places in order, as far back as any edge reaches."""
    found: list[list[tuple[int, int]]] = []
    worklist: list[_Tail] = [(number, measure.reach, [], frozenset())]
    while worklist:
        current, left, path, passed = worklist.pop()
        block = function.blocks[current]
        start, rest, over = measure.back(block.first, block.end, left)
        path = [(start, block.end), *path]
        key = tuple(rest)
        # Once more around a loop that counts nothing finds nothing new.
        further = [] if over else [one for one in block.predecessors if (one, key) not in passed]
        for before in further:
            worklist.append((before, rest, path, passed | {(before, key)}))
        if not further:
            found.append(path)
        if len(found) + len(worklist) > _MOST_PATHS:
            raise TooManyPaths
    return found
