"""Which blocks can be executed."""

from __future__ import annotations

import re
from collections.abc import Set

from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import COMES_BACK, RETURN, Block, Function


def reachable_blocks(function: Function) -> frozenset[int]:
    """The blocks that control can reach from the entry.

    When a reachable block may go to an unknown place, every block that starts with a label counts as reachable. So does
    a block whose address reachable code computes (``s_add_u32 s0, s0, .Lparked-.``): it may be where a trap returns to.
    """
    if not function.blocks:
        return frozenset()
    seen: set[int] = set()
    entries = [0]
    while entries:
        _follow(function, entries, seen)
        entries = _computed_addresses(function, seen)
    return frozenset(seen)


def _follow(function: Function, entries: list[int], seen: set[int]) -> None:
    """Add what control reaches from some blocks."""
    blocks = function.blocks
    seen.update(entries)
    stack = list(entries)
    anywhere = False
    while stack:
        block = blocks[stack.pop()]
        following = [*block.successors, *block.entries]
        if block.lost and not anywhere:
            anywhere = True
            following += [other.number for other in blocks if other.label]
        for successor in following:
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)


_NAME = re.compile(r"[A-Za-z_.$][\w.$@]*")


def _computed_addresses(function: Function, seen: set[int]) -> list[int]:
    """Blocks that are not seen yet and whose label an instruction of a seen block names without branching to it."""
    starts = {block.first: block.number for block in function.blocks if block.number not in seen}
    labels = {name: starts[index] for name, index in function.labels.items() if index in starts}
    if not labels:
        return []
    naming: dict[int, list[int]] = {}
    for text, decoded, indices in function.spellings:
        if decoded is None or not decoded.of(Op.BRANCH):
            for name in labels.keys() & set(_NAME.findall(text)):
                for index in indices:
                    naming.setdefault(index, []).append(labels[name])
    return [
        number
        for block in function.blocks
        if block.number in seen
        for index in range(block.first, block.end)
        for number in naming.get(index, ())
    ]


def unreachable_runs(function: Function) -> list[tuple[Block, ...]]:
    """The blocks that control does not reach, as runs of neighbours in program order."""
    return _runs_without(function, reachable_blocks(function))


def _runs_without(function: Function, reachable: Set[int]) -> list[tuple[Block, ...]]:
    runs: list[list[Block]] = [[]]
    for block in function.blocks:
        if block.number in reachable:
            runs.append([])
        else:
            runs[-1].append(block)
    return [tuple(run) for run in runs if run]


def subroutines_not_followed(function: Function) -> list[tuple[Block, ...]]:
    """Runs of blocks that nothing followed leads to, where reachable code has calls that are not followed: what those
    calls may go to, as such code returns, or something computes its address."""
    if not _calls_not_followed(function):
        return []
    followed: set[int] = set()
    _follow(function, [0], followed)
    reachable = reachable_blocks(function)
    return [
        run
        for run in _runs_without(function, followed)
        if any(block.leaves in (RETURN, COMES_BACK) or block.number in reachable for block in run)
    ]


def calls_not_followed(function: Function) -> list[tuple[Block, str]]:
    """Reachable calls that go, or may go, to a subroutine of the function, and are not followed into it: the blocks
    that end with them, and why."""
    unknown = "the target of this call is not known, and the function has subroutines"
    return [
        (block, block.call.reason or unknown)
        for block in _calls_not_followed(function)
        if block.call is not None and (block.call.reason or (function.subroutines and not block.call.targets))
    ]


def _calls_not_followed(function: Function) -> list[Block]:
    calls = [block for block in function.blocks if block.call is not None and not block.entries]
    if not calls:
        return []
    reachable = reachable_blocks(function)
    return [block for block in calls if block.number in reachable]
