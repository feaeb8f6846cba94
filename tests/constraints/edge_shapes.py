"""Control flow around a pair: straight code, a join of two paths, a loop; each with the answer that is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.constraints.edge_pairs import EdgePair

_FAR = ["s_nop 15", "s_nop 15"]
"""More wait states than any edge asks for."""
_END = ["s_endpgm", ".Lend:", "s_endpgm"]


@dataclass(frozen=True)
class Shape:
    """A kernel and whether it breaks the edge of its pair."""

    name: str
    text: str
    broken: bool


def straight(pair: EdgePair) -> Iterator[Shape]:
    """Exactly enough, one too few, nothing at all, and what only looks like a mitigation."""
    if pair.harmless:
        yield _shape(pair, "hazard", [pair.steps[0]], True)
        yield _shape(pair, "harmless", [pair.harmless], False)
        return
    for count in sorted({pair.count, pair.count - 1, 0}):
        lines = [pair.line] * count
        yield _shape(pair, f"{count} of {pair.count}", [*_head(pair, lines), pair.steps[-1]], count < pair.count)
    if pair.weaker:
        yield _shape(pair, "weaker", [*_head(pair, [pair.weaker]), pair.steps[-1]], True)


def joined(pair: EdgePair) -> Iterator[Shape]:
    """The consumer behind a join: one path falls into it, the other jumps to it."""
    last = pair.harmless or pair.steps[-1]
    if pair.harmless:
        for name, consumer in (("hazard", pair.steps[0]), ("harmless", pair.harmless)):
            yield _shape(pair, name, ["s_cbranch_scc0 .Ljoin", "s_nop 0", ".Ljoin:", consumer], name == "hazard")
        return
    enough, few = pair.count, pair.count - 1
    for name, falls, jumps in (("both", enough, enough), ("falls", few, enough), ("jumps", enough, few)):
        jump_lines, jump_broken = _over_branch(pair, jumps)
        lines = [
            "s_cbranch_scc0 .Lfar", *_head(pair, [pair.line] * falls), ".Ljoin:", last, *_END,
            ".Lfar:", *_head(pair, jump_lines), "s_branch .Ljoin",
        ]  # fmt: skip
        yield _shape(pair, name, lines, falls < enough or jump_broken, ended=True)
    if pair.branch == "spoils":
        yield _shape(pair, "behind", ["s_cbranch_scc0 .Ljoin", "s_nop 0", ".Ljoin:", pair.line, last], False)


def looped(pair: EdgePair) -> Iterator[Shape]:
    """The consumer at the head of a loop, all that comes before it at the end."""
    if pair.harmless:
        for name, consumer in (("hazard", pair.steps[0]), ("harmless", pair.harmless)):
            yield _shape(pair, name, [".Lloop:", consumer, "s_cbranch_scc1 .Lloop"], name == "hazard")
        return
    for name, count in (("enough", pair.count), ("too few", pair.count - 1)):
        lines, broken = _over_branch(pair, count)
        entry = [pair.line] if pair.branch == "spoils" else ["s_nop 0"]
        body = [*entry, ".Lloop:", pair.steps[-1], *_FAR, *_head(pair, lines), "s_cbranch_scc1 .Lloop"]
        yield _shape(pair, name, body, broken)
    if pair.branch == "spoils":
        yield _shape(pair, "inside", [".Lloop:", pair.line, pair.steps[-1], "s_cbranch_scc1 .Lloop"], False)


def _over_branch(pair: EdgePair, count: int) -> tuple[list[str], bool]:
    """The lines that give ``count`` in front of a branch right before the consumer, and whether that is a hazard."""
    if pair.branch == "counts":
        return [pair.line] * max(count - 1, 0), count < pair.count and count > 0
    broken = count < pair.count if pair.branch == "nothing" else pair.branch == "spoils"
    return [pair.line] * count, broken


def _head(pair: EdgePair, lines: list[str]) -> list[str]:
    """All steps but the consumer, with lines before step ``at``."""
    before = list(pair.steps[:-1])
    return [*before[: pair.at], *lines, *before[pair.at :]]


def _shape(pair: EdgePair, name: str, lines: list[str], broken: bool, ended: bool = False) -> Shape:
    mode = [pair.mode] if pair.mode else []
    return Shape(name, "\n".join([*mode, *lines, *([] if ended else _END)]), broken)
