"""Which memory operations may still be open where a block starts, as far as its time depends on them."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo_gate.cost.sequence import Open, StepSequence
from asmevo_gate.program.model import Function


def open_at_entry(function: Function, sequences: Sequence[StepSequence]) -> list[Open]:
    """For each block the memory counters that may be open when it starts, with the longest operation of the function
    that counts on them in clk."""
    longest: dict[int, float] = {}
    for sequence in set(sequences):
        for counter, clk in sequence.counters.longest:
            longest[counter] = max(longest.get(counter, 0.0), clk)
    blocks, behind_calls = function.blocks, function.behind_calls
    entry = [0] * len(blocks)
    work = list(range(len(blocks)))
    while work:
        number = work.pop()
        counters = sequences[number].counters
        leaves = (entry[number] & ~counters.clears) | counters.raises
        for following in (*blocks[number].successors, *blocks[number].entries, *behind_calls.get(number, ())):
            if leaves & ~entry[following]:
                entry[following] |= leaves
                work.append(following)
    ordered = sorted(longest.items())
    of_bits = {bits: tuple((counter, clk) for counter, clk in ordered if bits >> counter & 1) for bits in set(entry)}
    return [of_bits[bits] for bits in entry]
