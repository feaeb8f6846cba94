"""Memory operations in flight through the subroutines of a function.

A subroutine is followed once more for each call, from what is in flight there to what is in flight where it comes back:
no path leads in through one call and out behind another. What is in flight at the start of its blocks is kept as the
join over all calls, for those who ask what may be in flight at an instruction.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from asmevo_gate.analysis.pending_state import Race, Report, State
from asmevo_gate.program.model import COMES_BACK, Block, Function

Leave = Callable[[Block, State, Report | None], State | None]
"""What is in flight at the end of a block that a state enters, and ``None`` where control does not go on."""


class Subroutines:
    """The subroutines of one function. ``at_start`` are the states at the starts of their blocks, over all calls."""

    def __init__(self, function: Function, ranks: Sequence[int], leave: Leave) -> None:
        self._function = function
        self._ranks = ranks
        self._leave = leave
        self.at_start: dict[int, State] = {}

    def pass_through(self, block: Block, state: State, report: Report | None) -> State | None:
        """What is in flight behind the call at the end of a block, ``None`` when it never comes back.

        A worklist in reverse postorder: it ends as that over the whole function does.
        """
        blocks = self._function.blocks
        entering: dict[int, State] = dict.fromkeys(block.entries, state)
        queue = sorted((self._ranks[number], number) for number in entering)
        queued = set(entering)
        races: dict[int, list[Race]] = {}
        back: State | None = None
        while queue:
            _, number = heapq.heappop(queue)
            queued.discard(number)
            found: list[Race] = []
            end = self._leave(blocks[number], entering[number], found.append if report else None)
            races[number] = found  # of the last walk, which starts with what the fixed point holds
            if end is None:
                continue
            if blocks[number].leaves == COMES_BACK:
                back = end if back is None else back.joined(end)
            for successor in blocks[number].successors:
                known = entering.get(successor)
                joined = end if known is None else known.joined(end)
                if joined is known:
                    continue
                entering[successor] = joined
                if successor not in queued:
                    queued.add(successor)
                    heapq.heappush(queue, (self._ranks[successor], successor))
        if report:
            for number, entered in entering.items():
                before = self.at_start.get(number)
                self.at_start[number] = entered if before is None else before.joined(entered)
                for race in races[number]:
                    report(race)
        return back
