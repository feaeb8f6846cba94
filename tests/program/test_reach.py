"""Walks over blocks: what some blocks lead to, and what leads to them."""

from __future__ import annotations

from asmevo_gate.program.model import Block
from asmevo_gate.program.reach import leading_to, reached_from


def graph(*successors: tuple[int, ...]) -> list[Block]:
    """Blocks of one instruction with these successors."""
    before: list[list[int]] = [[] for _ in successors]
    for number, following in enumerate(successors):
        for one in following:
            before[one].append(number)
    return [Block(at, "", at, at + 1, successors[at], tuple(before[at])) for at in range(len(successors))]


LOOP = graph((1,), (2, 3), (1,), (), (3,))
"""0 -> 1 <-> 2, 1 -> 3 <- 4."""


def test_what_some_blocks_lead_to_begins_with_these() -> None:
    assert reached_from(LOOP, (0,))[0] == 0
    assert set(reached_from(LOOP, (0,))) == {0, 1, 2, 3}
    assert reached_from(LOOP, (4, 2))[:2] == (4, 2)
    assert set(reached_from(LOOP, (4,))) == {3, 4}
    assert reached_from(LOOP, ()) == ()


def test_what_leads_to_some_blocks_holds_these() -> None:
    assert leading_to(LOOP, (3,)) == {0, 1, 2, 3, 4}
    assert leading_to(LOOP, (2,)) == {0, 1, 2}
    assert leading_to(LOOP, (0, 4)) == {0, 4}
    assert leading_to(LOOP, ()) == set()
