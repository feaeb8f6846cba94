"""Post-dominators, and which branches decide whether a block is executed."""

from __future__ import annotations

from asmevo_gate.analysis.loops import immediate_dominators
from asmevo_gate.program.model import Block, Function


def immediate_post_dominators(function: Function) -> list[int | None]:
    """The immediate post-dominator of each block; ``None`` for blocks that leave the function, or never do.

    The dominators of the reversed graph, with one virtual exit behind every block that has no successor or may
    leave the function.
    """
    blocks = function.blocks
    exits = [block.number + 1 for block in blocks if not block.successors or block.leaves or block.falls_off]
    reverse = [Block(0, "", 0, 0, tuple(exits), ())]
    for block in blocks:
        ahead = [successor + 1 for successor in block.successors]
        ahead += [0] if block.number + 1 in exits else []
        behind = tuple(number + 1 for number in block.predecessors)
        reverse.append(Block(block.number + 1, "", 0, 0, behind, tuple(ahead)))
    found = immediate_dominators(tuple(reverse))
    return [None if number is None or number == 0 else number - 1 for number in found[1:]]


def controlling_branches(function: Function) -> list[set[int]]:
    """For each block the blocks whose final branch decides whether it is executed, directly or through others.

    Method: Ferrante, Ottenstein and Warren, "The Program Dependence Graph and Its Use in Optimization" (1987).
    """
    post_dominator = immediate_post_dominators(function)
    direct: list[set[int]] = [set() for _ in function.blocks]
    for block in function.blocks:
        if len(block.successors) < 2:
            continue
        for successor in block.successors:
            current: int | None = successor
            while current is not None and current != post_dominator[block.number]:
                direct[current].add(block.number)
                current = post_dominator[current]
    return [_closure(number, direct) for number in range(len(direct))]


def _closure(number: int, direct: list[set[int]]) -> set[int]:
    found: set[int] = set()
    pending = [number]
    while pending:
        for branch in direct[pending.pop()]:
            if branch not in found:
                found.add(branch)
                pending.append(branch)
    return found
