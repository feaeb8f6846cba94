"""A run divided into parts for parallel CI jobs: the same division in each job, balanced by size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import heapify, heapreplace

from asmevo_gate.changes.model import Change
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.result import Shard

MOST_SHARDS = 1_000
_SHARD = r"(\d{1,6})/(\d{1,6})"


def parse_shard(text: str) -> Shard:
    """``3/8`` is part 3 of 8.

    Raises:
        UsageError: it has another form, or is no part of that many.
    """
    match = re.fullmatch(_SHARD, text.strip())
    if match and 1 <= int(match[1]) <= int(match[2]) <= MOST_SHARDS:
        return Shard(int(match[1]), int(match[2]))
    raise UsageError(f"'{text}' names no part of a run", f"write --shard 3/8: part 3 of 8, of at most {MOST_SHARDS}")


def part_of(changes: Sequence[Change], shard: Shard) -> tuple[Change, ...]:
    """The changes of one part, in their order. Every change is in exactly one part; the largest files are dealt out
    first, each to the part that has the least so far, so that the parts take about equally long."""
    dealt = sorted(range(len(changes)), key=lambda at: (-size_of(changes[at]), changes[at].path, at))
    loads = [(0, number) for number in range(1, shard.count + 1)]
    heapify(loads)
    mine: list[int] = []
    for at in dealt:
        load, number = loads[0]
        heapreplace(loads, (load + size_of(changes[at]) + 1, number))
        if number == shard.number:
            mine.append(at)
    return tuple(changes[at] for at in sorted(mine))


def size_of(change: Change) -> int:
    """Bytes of a file at both sides: what its check costs, by estimation."""
    return sum(len(version.data) for version in (change.base, change.head) if version is not None)
