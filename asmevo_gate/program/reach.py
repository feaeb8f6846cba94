"""The blocks that a walk along the edges of a function's control flow meets, forwards or backwards.

What the edges do not say (unknown jumps, subroutines, addresses in registers) is for the caller to add; which code can
run at all is :mod:`asmevo_gate.analysis.reachability`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo_gate.program.model import Block


def reached_from(blocks: Sequence[Block], starts: Iterable[int]) -> tuple[int, ...]:
    """The blocks that some blocks lead to, these first."""
    reached = dict.fromkeys(starts)
    pending = list(reached)
    while pending:
        for successor in blocks[pending.pop()].successors:
            if successor not in reached:
                reached[successor] = None
                pending.append(successor)
    return tuple(reached)


def leading_to(blocks: Sequence[Block], ends: Iterable[int]) -> frozenset[int]:
    """The blocks that lead to some blocks, these among them."""
    leading = set(ends)
    pending = list(leading)
    while pending:
        for predecessor in blocks[pending.pop()].predecessors:
            if predecessor not in leading:
                leading.add(predecessor)
                pending.append(predecessor)
    return frozenset(leading)
