"""Which blocks can be executed."""

from __future__ import annotations

from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.control_flow import RETURN
from asmevo_gate.program.model import Block, Function


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


def unreachable_runs(function: Function) -> list[tuple[Block, ...]]:
    """The blocks that control does not reach, as runs of neighbours in program order."""
    reachable = reachable_blocks(function)
    runs: list[list[Block]] = [[]]
    for block in function.blocks:
        if block.number in reachable:
            runs.append([])
        else:
            runs[-1].append(block)
    return [tuple(run) for run in runs if run]


def subroutines_of_computed_calls(function: Function) -> list[tuple[Block, ...]]:
    """Unreachable runs that return, where reachable code calls through registers: what those calls may go to."""
    if not function.has(lambda decoded: decoded.of(Op.CALL)):
        return []
    reachable = reachable_blocks(function)
    calls = any(
        one.decoded is not None and one.decoded.of(Op.CALL)
        for block in function.blocks
        if block.number in reachable
        for one in function.instructions[block.first : block.end]
    )
    returning = (run for run in unreachable_runs(function) if any(block.leaves == RETURN for block in run))
    return list(returning) if calls else []
