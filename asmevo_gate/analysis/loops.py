"""Dominators and natural loops of a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from asmevo_gate.program.model import Block


class Loop(msgspec.Struct, frozen=True):
    """A natural loop: its header block, all its blocks, and the loop around it (index into the result, or ``None``)."""

    header: int
    blocks: frozenset[int]
    parent: int | None


def immediate_dominators(blocks: tuple[Block, ...]) -> list[int | None]:
    """The immediate dominator of each block (``None`` for the entry and for unreachable blocks).

    Method: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    order = reverse_postorder(blocks)
    position = [-1] * len(blocks)
    for place, number in enumerate(order):
        position[number] = place
    dominator: list[int | None] = [None] * len(blocks)
    if not blocks:
        return dominator
    dominator[0] = 0
    rest = [(number, blocks[number].predecessors) for number in order[1:]]
    # Once all are found, a block can only change after one that an edge leads back to.
    entered_again = [
        (number, predecessors)
        for number, predecessors in rest
        if any(position[one] >= position[number] for one in predecessors)
    ]
    _refine(dominator, rest, position)
    while _refine(dominator, entered_again, position):
        _refine(dominator, rest, position)
    dominator[0] = None
    return dominator


def _refine(
    dominator: list[int | None], numbers: Iterable[tuple[int, tuple[int, ...]]], position: Sequence[int]
) -> bool:
    """Find the dominators of blocks, given as numbers with predecessors, anew; true when one changes."""
    changed = False
    for number, predecessors in numbers:
        best = -1
        for other in predecessors:
            if dominator[other] is None:
                continue  # not found yet, or not reachable
            if best < 0:
                best = other
            while best != other:
                while position[best] > position[other]:
                    best = dominator[best] or 0
                while position[other] > position[best]:
                    other = dominator[other] or 0
        if dominator[number] != best:
            dominator[number] = best
            changed = True
    return changed


def reverse_postorder(blocks: tuple[Block, ...]) -> list[int]:
    """Reachable blocks so that a block comes before its successors except along back edges."""
    if not blocks:
        return []
    seen = {0}
    order: list[int] = []
    stack = [(0, iter(blocks[0].successors))]
    while stack:
        number, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(blocks[successor].successors)))
                break
        else:
            stack.pop()
            order.append(number)
    order.reverse()
    return order


@lru_cache(maxsize=8)
def natural_loops(blocks: tuple[Block, ...]) -> tuple[Loop, ...]:
    """All natural loops, outer loops before inner ones; back edges to one header make one loop. Remembered for the
    functions asked about last, as several rules and the cost model ask for the same ones.

    Cycles with several entries (irreducible control flow) have no header that dominates them and are not listed.
    """
    if not blocks:
        return ()
    interval = _dominator_intervals(immediate_dominators(blocks))
    members: dict[int, set[int]] = {}
    for block in blocks:
        for successor in block.successors:
            if _holds(interval[successor], interval[block.number]):
                _add_to_loop(members.setdefault(successor, {successor}), block.number, blocks)
    ordered = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    loops: list[Loop] = []
    # Natural loops with different headers are nested or disjoint: the loop around one is the innermost at its header.
    innermost: dict[int, int] = {}
    for header, body in ordered:
        parent = innermost.get(header)
        innermost.update(dict.fromkeys(body, len(loops)))
        loops.append(Loop(header, frozenset(body), parent))
    return tuple(loops)


def _dominator_intervals(dominator: list[int | None]) -> list[tuple[int, int]]:
    """Entry and exit times of each block in a walk of the dominator tree: a block dominates another when its interval
    holds the other's. Unreachable blocks have an empty interval."""
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(dominator):
        if parent is not None:
            children.setdefault(parent, []).append(number)
    intervals = [(0, -1)] * len(dominator)
    clock = 0
    stack = [(0, False)]
    entered = [0] * len(dominator)
    while stack:
        number, done = stack.pop()
        if done:
            intervals[number] = (entered[number], clock)
            continue
        clock += 1
        entered[number] = clock
        stack.append((number, True))
        stack += [(child, False) for child in children.get(number, ())]
    return intervals


def _holds(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return inner[1] >= 0 and outer[0] <= inner[0] and inner[1] <= outer[1]


def _add_to_loop(body: set[int], latch: int, blocks: tuple[Block, ...]) -> None:
    """Add the blocks that lead to a latch without passing the loop's header to those that lead to its other latches."""
    stack = [latch]
    while stack:
        number = stack.pop()
        if number not in body:
            body.add(number)
            stack += blocks[number].predecessors


def postorder_ranks(blocks: Sequence[Block]) -> list[int]:
    """The place of each block in a reverse postorder of all of them, also of those that the entry does not lead to."""
    seen = [False] * len(blocks)
    postorder: list[int] = []
    for root in range(len(blocks)):
        if seen[root]:
            continue
        seen[root] = True
        stack = [(root, iter(blocks[root].successors))]
        while stack:
            number, successors = stack[-1]
            for successor in successors:
                if not seen[successor]:
                    seen[successor] = True
                    stack.append((successor, iter(blocks[successor].successors)))
                    break
            else:
                postorder.append(number)
                stack.pop()
    ranks = [0] * len(blocks)
    for position, number in enumerate(reversed(postorder)):
        ranks[number] = position
    return ranks


def loop_depths(blocks: tuple[Block, ...]) -> list[int]:
    """How many loops each block is in."""
    depths = [0] * len(blocks)
    for loop in natural_loops(blocks):
        for number in loop.blocks:
            depths[number] += 1
    return depths
