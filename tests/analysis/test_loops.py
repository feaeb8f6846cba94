"""Natural loops on random graphs, against their definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.analysis.loops import immediate_dominators, natural_loops
from asmevo_gate.program.model import Block

_MOST = 9


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[Block, ...]:
    count = draw(st.integers(1, _MOST))
    ends = st.lists(st.integers(0, count - 1), max_size=2, unique=True)
    successors = [tuple(draw(ends)) for _ in range(count)]
    return tuple(
        Block(n, "", n, n + 1, successors[n], tuple(p for p in range(count) if n in successors[p]))
        for n in range(count)
    )


def _reached(blocks: tuple[Block, ...], without: int | None = None) -> set[int]:
    found: set[int] = set()
    stack = [0] if without != 0 else []
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [other for other in blocks[number].successors if other != without]
    return found


def _dominates(blocks: tuple[Block, ...], one: int, other: int) -> bool:
    return other in _reached(blocks) and (one == other or other not in _reached(blocks, one))


@settings(max_examples=300, deadline=None)
@given(_graphs())
def test_loops_and_their_nesting_are_those_of_the_definition(blocks: tuple[Block, ...]) -> None:
    loops = natural_loops(blocks)
    back = {(b.number, header) for b in blocks for header in b.successors if _dominates(blocks, header, b.number)}
    assert {loop.header for loop in loops} == {header for _, header in back}
    for number, loop in enumerate(loops):
        assert {latch for latch, header in back if header == loop.header} <= loop.blocks
        around = [other for other in loops[:number] if loop.blocks < other.blocks]
        innermost = min(around, key=lambda other: len(other.blocks), default=None)
        assert (None if loop.parent is None else loops[loop.parent]) == innermost


@settings(max_examples=300, deadline=None)
@given(_graphs())
def test_dominators_are_those_of_the_definition(blocks: tuple[Block, ...]) -> None:
    found = immediate_dominators(blocks)
    for block in blocks:
        chain = set()
        number = found[block.number]
        while number is not None:
            chain.add(number)
            number = found[number]
        others = range(len(blocks))
        assert chain == {one for one in others if one != block.number and _dominates(blocks, one, block.number)}


@settings(max_examples=300, deadline=None)
@given(_graphs())
def test_a_loop_holds_what_leads_to_its_latches_without_its_header(blocks: tuple[Block, ...]) -> None:
    for loop in natural_loops(blocks):
        latches = {one for one in loop.blocks if loop.header in blocks[one].successors}
        latches = {one for one in latches if _dominates(blocks, loop.header, one)}
        wanted = {loop.header} | latches
        while more := {b.number for b in blocks if set(b.successors) & (wanted - {loop.header})} - wanted:
            wanted |= more
        assert loop.blocks == wanted
