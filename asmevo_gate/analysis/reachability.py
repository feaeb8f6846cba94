"""Which blocks can be executed."""

from __future__ import annotations

from asmevo_gate.program.control_flow import RETURN
from asmevo_gate.program.model import Function


def reachable_blocks(function: Function) -> frozenset[int]:
    """The blocks that control can reach from the entry.

    When a reachable block may go to an unknown place, every block that starts with a label counts as reachable.
    """
    blocks = function.blocks
    if not blocks:
        return frozenset()
    seen = {0}
    stack = [0]
    anywhere = False
    while stack:
        block = blocks[stack.pop()]
        following = list(block.successors)
        if block.leaves and block.leaves != RETURN and not anywhere:
            anywhere = True
            following += [other.number for other in blocks if other.label]
        for successor in following:
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return frozenset(seen)
