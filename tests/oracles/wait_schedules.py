"""The hardware's rules by brute force: all orders in which operations in flight can end, on one straight path.

The machine holds the set of operations in flight. An operation ends when every earlier one of its order (in-order
kinds) has ended; a wait for ``n`` blocks until at most ``n`` are in flight; a full counter blocks issue. Which
operations can still be in flight at the end of a path is found by trying everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """An operation is issued; ``order`` is empty for one that ends at any time."""

    order: str


class Wait(NamedTuple):
    """A wait until at most ``at_most`` operations are in flight."""

    at_most: int


def possibly_in_flight(path: Sequence[Issue | Wait], capacity: int) -> set[int]:
    """Positions of the issues that some order of ends leaves in flight behind the path."""
    orders = {position: step.order for position, step in enumerate(path) if isinstance(step, Issue)}
    states: set[frozenset[int]] = {frozenset()}
    for position, step in enumerate(path):
        limit = step.at_most if isinstance(step, Wait) else capacity - 1
        states = {state for state in _ends(states, orders) if len(state) <= limit}
        if isinstance(step, Issue):
            states = {state | {position} for state in states}
    return {position for state in states for position in state}


def _ends(states: set[frozenset[int]], orders: dict[int, str]) -> set[frozenset[int]]:
    """Every state that any number of ends leads to."""
    seen = set(states)
    work = list(states)
    while work:
        state = work.pop()
        for one in state:
            blocked = orders[one] and any(other < one and orders[other] == orders[one] for other in state)
            if not blocked:
                rest = state - {one}
                if rest not in seen:
                    seen.add(rest)
                    work.append(rest)
    return seen
