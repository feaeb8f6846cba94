"""What subroutines of a function add to the cost of the blocks that call them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

import msgspec

from asmevo_gate.cost.load import Load
from asmevo_gate.cost.ways import Ways
from asmevo_gate.program.model import Block, Function
from asmevo_gate.program.reach import reached_from


def with_subroutines(function: Function, loads: Sequence[Load], taken: Sequence[float], pipes: int) -> list[Load]:
    """The loads of blocks, that of a block with a call with the longest of the subroutines that it may go to.

    ``loads``, ``taken`` and ``pipes`` are those of :class:`Ways`.
    """
    found = list(loads)
    longest: dict[int, Load] = {}
    calling = [block for block in function.blocks if block.entries]

    def count(blocks: Sequence[Block]) -> None:
        for block in blocks:
            called = max((longest[entry] for entry in block.entries), key=lambda load: load.low + load.high)
            found[block.number] = _both(loads[block.number], called)

    # Callees first: a subroutine has more blocks than those that it calls.
    for entry in sorted(function.subroutines, key=lambda one: len(function.subroutines[one])):
        count([block for block in calling if block.number in function.subroutines[entry]])
        numbers = reached_from(function.blocks, (entry,))
        ways = Ways(
            _renumbered(function, numbers), [found[one] for one in numbers], [taken[one] for one in numbers], pipes
        )
        longest[entry] = ways.load(ways.longest(0, ways.order[::-1]))
    count(calling)
    return found


def _both(one: Load, other: Load) -> Load:
    use = tuple(map(add, one.use, other.use))
    instructions = one.instructions + other.instructions
    return Load(one.low + other.low, one.high + other.high, use, one.bytes + other.bytes, instructions)


def _renumbered(function: Function, numbers: Sequence[int]) -> list[Block]:
    place = {number: at for at, number in enumerate(numbers)}
    return [
        msgspec.structs.replace(
            function.blocks[number],
            number=place[number],
            successors=tuple(place[one] for one in function.blocks[number].successors),
            predecessors=tuple(place[one] for one in function.blocks[number].predecessors if one in place),
        )
        for number in numbers
    ]
