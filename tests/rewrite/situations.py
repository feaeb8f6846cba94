"""Situations for tests of proposers: a region of a kernel with all that a proposer may ask about it."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.rewrite.proposal import Proposal, Situation
from tests.rewrite.kernels import rewritten


class _Catcher:
    """A proposer that proposes nothing and keeps what it was shown."""

    name = "catcher"

    def __init__(self) -> None:
        self.seen: list[Situation] = []

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        self.seen.append(situation)
        yield from ()


def situations(text: str, gpu: str = "gfx90a", **options: object) -> list[Situation]:
    """The situation of every region of a text."""
    catcher = _Catcher()
    rewritten(text, gpu, (catcher,), **options)
    return catcher.seen


def largest(text: str, gpu: str = "gfx90a", **options: object) -> Situation:
    """The situation of the region with most instructions."""
    return max(situations(text, gpu, **options), key=lambda one: len(one.decoded))
