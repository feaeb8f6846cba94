"""Proposer: waits in their weakest form that gives the same results, from the counter analysis."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.waits import weaker_wait
from asmevo_gate.rewrite.edit_script import Delete, Edit, Replace
from asmevo_gate.rewrite.proposal import Proposal, Situation


class WeakestWaits:
    """Raises the counts of waits, and removes what waits for nothing."""

    name = "waits"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """All waits of the region at once, then each alone."""
        region = situation.region
        edits: dict[int, Edit] = {}
        texts: dict[int, str] = {}
        for slack in situation.facts.too_strong:
            number = slack.wait.index - region.first
            if not 0 <= number < region.end - region.first or slack.wait.decoded is None:
                continue
            given = situation.decoded[number] if number not in texts else _decoded(situation, texts[number])
            if given is None:
                continue
            weaker = weaker_wait(given, region.function.target, slack.counter, slack.enough)
            if ";" in weaker:
                continue
            texts[number] = weaker
            edits[number] = Replace(number, weaker) if weaker else Delete(number)
        if edits:
            yield Proposal(tuple(edits.values()), self.name, "wait for no more than is needed")
        if len(edits) > 1:
            for edit in edits.values():
                yield Proposal((edit,), self.name, "wait for no more than is needed")


def _decoded(situation: Situation, text: str) -> Decoded | None:
    meaning = situation.isa.decode(text) if text else None
    return meaning if isinstance(meaning, Decoded) else None
