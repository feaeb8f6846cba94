"""Proposer: edits that a language model suggests, under a grammar of the block at hand. It is not trusted.

Each region is shown in parts that fit the budget of tokens. What is refused goes back to the model with the reason, for
a bounded number of rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Literal

from asmevo_gate.rewrite.answer_cache import AnswerCache, Reply, answer_key
from asmevo_gate.rewrite.answer_grammar import AnswerError, edits_within, grammar, read_answer, tokens_for
from asmevo_gate.rewrite.answer_vocabulary import Part, Vocabulary, vocabulary
from asmevo_gate.rewrite.dependences import dependences
from asmevo_gate.rewrite.gain import computing
from asmevo_gate.rewrite.language_model import LanguageModel, ModelError
from asmevo_gate.rewrite.model_messages import Answer, TooLong
from asmevo_gate.rewrite.prompt import Refused, checked_template, filled, instruction
from asmevo_gate.rewrite.proposal import Proposal, Refusal, Situation

SMALLEST = 2
"""Computing instructions below which the model is not asked."""
MOST_INSTRUCTIONS = 1500
"""Instructions of a region above which the model is not asked."""
PART = 32
"""Most instructions that are shown at once."""
Outcome = Literal["answers", "unread", "empty", "repeated"]
"""All answers; those that could not be read, proposed nothing, or said again what was refused."""
_NOTHING = Refusal("no_gain", "the edits change nothing")


class ModelProposer:
    """A language model behind the interface of a proposer.

    ``report`` gets one line for what the model was not asked, and why. A model that cannot be used proposes nothing:
    ``failure`` then holds the reason, and ``report`` got it once.
    """

    name = "model"

    def __init__(
        self,
        model: LanguageModel,
        report: Callable[[str], None],
        template: str | None = None,
        cache: AnswerCache | None = None,
    ) -> None:
        self.model = model
        self.failure: ModelError | None = None
        self.counts: Counter[Outcome] = Counter()
        self.asking_seconds = 0.0
        """Wall time of the answers that were not known before."""
        self.context: dict[tuple[str, int], int] = {}
        """Tokens of the longest question for each block, by function and number."""
        self._report = report
        self._template = checked_template(template) if template is not None else None
        self._cache = cache
        self._known: dict[str, Reply] = {}
        self._reported: set[str] = set()

    def begin(self) -> None:
        """Report a model that is not there, even if there turns out to be nothing to ask."""
        try:
            self.model.check_file()
        except ModelError as error:
            self._give_up(error)

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """What the model suggests for the region, part by part and round by round."""
        size = len(situation.decoded)
        if self.failure is not None or computing(situation.decoded) < SMALLEST:
            return
        if size > MOST_INSTRUCTIONS:
            self._note(f"{_place(situation)}: {size} instructions are too many to show to the model")
            return
        order = dependences(situation)
        pending = [Part(first, min(first + PART, size)) for first in range(0, size, PART)]
        while pending and self.failure is None:
            part = pending.pop(0)
            if (yield from self._rounds(situation, vocabulary(situation, part, order))):
                continue
            halves = _halves(part)
            if not halves:
                self._note(
                    f"{_place(situation)}: the question does not fit the model's context, however short the part"
                )
            pending[:0] = halves

    def _rounds(self, situation: Situation, words: Vocabulary) -> Generator[Proposal, None, bool]:
        """Questions about one part until the model has nothing more; false when the first one does not fit."""
        refused: list[Refused] = []
        for _ in range(self.model.options.rounds):
            reply = self._reply(situation, words, refused)
            if isinstance(reply, TooLong):
                return bool(refused)
            try:
                script, lines = ((), ()) if reply is None else read_answer(reply.text, words, reply.complete)
            except AnswerError as error:
                self.counts["unread"] += 1
                self._note(f"{_place(situation)}: the model's answer does not count: {error}")
                return True
            if not script or any(lines == one.lines for one in refused):
                self.counts["repeated" if script else "empty"] += reply is not None
                return True
            yield Proposal(script, self.name, f"model {self.model.name}: {'; '.join(lines)}"[:200])
            refused.append(Refused(lines, situation.refusal(script) or _NOTHING))
        return True

    def _reply(self, situation: Situation, words: Vocabulary, refused: list[Refused]) -> Reply | None:
        """What the model says to one question, or said when it was asked before; ``None`` when it cannot be used."""
        options = self.model.options
        edits = edits_within(words, options.answer_tokens)
        tokens = tokens_for(words, edits)
        rules = grammar(words, edits)
        text = filled(self._template, instruction(situation, words, situation.facts.constraints, refused))
        try:
            seed = options.seed + len(refused)  # so that another round is another try
            key = answer_key(self.model.digest, text, rules, tokens, options.context, seed, options.temperature)
            reply = self._known.get(key) or (self._cache.get(key) if self._cache is not None else None)
            if reply is None:
                reply = self.model.ask(text, rules, tokens, seed)
                self.asking_seconds += reply.seconds if isinstance(reply, Answer) else 0.0
                if self._cache is not None and (isinstance(reply, TooLong) or reply.complete):
                    self._cache.put(key, reply)
        except ModelError as error:
            self._give_up(error)
            return None
        self._known[key] = reply
        if isinstance(reply, Answer):
            self.counts["answers"] += 1
            block = situation.region.function.name, situation.region.block
            self.context[block] = max(reply.prompt_tokens, self.context.get(block, 0))
        return reply

    def _give_up(self, error: ModelError) -> None:
        self.failure = error
        self._note(str(error))

    def _note(self, line: str) -> None:
        if line not in self._reported:
            self._reported.add(line)
            self._report(line)


def _halves(part: Part) -> list[Part]:
    """The two halves of a part; none of one that is too small to change."""
    if part.length < 2 * SMALLEST:
        return []
    middle = (part.first + part.end) // 2
    return [Part(part.first, middle), Part(middle, part.end)]


def _place(situation: Situation) -> str:
    first = situation.region.instructions[0].statement.place.line
    return f"{situation.region.function.name}, line {first}"
