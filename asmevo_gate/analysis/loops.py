"""Dominators and natural loops of a function."""

from __future__ import annotations

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
    position = {number: i for i, number in enumerate(order)}
    dominator: list[int | None] = [None] * len(blocks)
    if not blocks:
        return dominator
    dominator[0] = 0
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            known = [p for p in blocks[number].predecessors if p in position and dominator[p] is not None]
            best = known[0]
            for other in known[1:]:
                best = _meet(best, other, dominator, position)
            if dominator[number] != best:
                dominator[number] = best
                changed = True
    dominator[0] = None
    return dominator


def _meet(a: int, b: int, dominator: list[int | None], position: dict[int, int]) -> int:
    while a != b:
        while position[a] > position[b]:
            a = dominator[a] or 0
        while position[b] > position[a]:
            b = dominator[b] or 0
    return a


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
                members.setdefault(successor, {successor}).update(_loop_body(successor, block.number, blocks))
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


def _loop_body(header: int, latch: int, blocks: tuple[Block, ...]) -> set[int]:
    body = {header, latch}
    stack = [latch] if latch != header else []
    while stack:
        for predecessor in blocks[stack.pop()].predecessors:
            if predecessor not in body:
                body.add(predecessor)
                stack.append(predecessor)
    return body


def loop_depths(blocks: tuple[Block, ...]) -> list[int]:
    """How many loops each block is in."""
    depths = [0] * len(blocks)
    for loop in natural_loops(blocks):
        for number in loop.blocks:
            depths[number] += 1
    return depths
