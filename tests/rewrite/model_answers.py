"""Answers of a model by the thousand through the chain of acceptance; what is accepted is judged again by other means:
both versions are executed, the rules look at the file with the change alone, and LLVM assembles it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.model import Instruction
from asmevo_gate.proof.execution import run_both
from asmevo_gate.rewrite.acceptance import Acceptance
from asmevo_gate.rewrite.answer_grammar import AnswerError, edits_within, grammar, read_answer, tokens_for
from asmevo_gate.rewrite.answer_vocabulary import Part, Vocabulary, vocabulary
from asmevo_gate.rewrite.attempts import Bench
from asmevo_gate.rewrite.dependences import dependences
from asmevo_gate.rewrite.edit_script import EditScript
from asmevo_gate.rewrite.language_model import LanguageModel
from asmevo_gate.rewrite.model_messages import Answer
from asmevo_gate.rewrite.prompt import instruction
from asmevo_gate.rewrite.proposal import Proposal, RewriteOptions
from asmevo_gate.source.edits import apply_edits
from tests.rewrite.kernels import judge_for, kernel
from tests.rewrite.situations import largest

BLOCKS: dict[str, tuple[str, str, str]] = {
    "dead code": (
        "gfx90a",
        "  v_mov_b32_e32 v9, v4\n  v_add_u32_e32 v10, v4, v5\n  v_mov_b32_e32 v11, v5\n  v_xor_b32_e32 v12, v10, v6\n"
        "  s_mov_b32 s6, 1\n  v_mul_lo_u32 v8, v10, v7\n",
        "v8",
    ),
    "padding": (
        "gfx942",
        "  v_add_f32_e32 v9, v4, v5\n  s_nop 4\n"
        "  v_mov_b32_dpp v8, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n  s_nop 3\n"
        "  v_mul_f32_e32 v10, v5, v6\n",
        "v8,v10",
    ),
    "latency": (
        "gfx1100",
        "  v_exp_f32_e32 v8, v4\n  v_add_f32_e32 v8, v8, v5\n  v_exp_f32_e32 v9, v5\n  v_add_f32_e32 v9, v9, v6\n"
        "  v_exp_f32_e32 v10, v6\n  v_add_f32_e32 v10, v10, v7\n",
        "v8,v9,v10",
    ),
    "fused forms": (
        "gfx942",
        "  v_lshlrev_b32_e32 v9, 4, v4\n  v_add_u32_e32 v10, v9, v5\n  v_and_b32_e32 v11, v4, v6\n"
        "  v_or_b32_e32 v12, v11, v10\n  v_mul_lo_u32 v8, v12, v7\n",
        "v8",
    ),
    "scalar and carry": (
        "gfx90a",
        "  s_or_b32 s8, s4, 2\n  s_add_u32 s10, s4, s5\n  s_addc_u32 s11, s5, s4\n  s_or_b32 s9, s8, 4\n"
        "  v_add_u32_e32 v9, s11, v4\n  v_add_u32_e32 v8, s9, v9\n",
        "v8",
    ),
    "matrix": (
        "gfx942",
        "  v_mov_b32_e32 v12, v4\n  v_mov_b32_e32 v13, v5\n  v_mov_b32_e32 v14, 0\n  v_mov_b32_e32 v15, 0\n  s_nop 1\n"
        "  v_mfma_f32_4x4x4_16b_f16 v[12:15], v[4:5], v[6:7], v[12:15]\n  s_nop 4\n  v_add_f32_e32 v8, v12, v13\n",
        "v8",
    ),
    "wide": (
        "gfx1100",
        "  v_lshlrev_b64 v[10:11], 3, v[4:5]\n  v_mov_b32_e32 v9, 1.0\n  v_fma_f32 v12, -v9, |v6|, v7\n"
        "  v_cmp_lt_f32_e32 vcc_lo, v12, v7\n  v_cndmask_b32_e32 v8, v10, v11, vcc_lo\n",
        "v8",
    ),
}
"""Name -> GPU, code, and the registers that are stored; each leaves something that can be improved."""


@dataclass
class AnswerTally:
    """What became of the answers. ``unread`` are those that the grammar let through and the reader did not take."""

    answers: int = 0
    complete: int = 0
    unread: list[str] = field(default_factory=list)
    empty: int = 0
    judged: int = 0
    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    unsafe: list[str] = field(default_factory=list)
    """Accepted, but executed or checked otherwise they are not equal or not clean."""

    def add(self, other: AnswerTally) -> None:
        """Sum up."""
        for name in ("answers", "complete", "empty", "judged", "accepted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unread += other.unread
        self.rejected += other.rejected
        self.unsafe += other.unsafe


class Block:
    """One of the blocks, with all that its answers are judged by."""

    def __init__(self, name: str, tokens: int) -> None:
        gpu, body, results = BLOCKS[name]
        text = kernel(body, gpu, results)
        self._judge = judge_for(gpu)
        graph = graph_for(find_target(gpu))
        program = self._judge.parse(text)
        hazards = partial(hazard_violations, graph=graph)
        self._bench = Bench(program, self._judge, hazards, graph, RewriteOptions())
        situation = largest(text, gpu)
        self._region = situation.region
        part = Part(0, len(situation.decoded))
        self._words: Vocabulary = vocabulary(situation, part, dependences(situation))
        edits = edits_within(self._words, tokens)
        self._grammar = grammar(self._words, edits)
        self._tokens = tokens_for(self._words, edits)
        self._question = instruction(situation, self._words, graph)
        self._known: dict[EditScript, Acceptance | str] = {}

    def tally(self, model: LanguageModel, seeds: Iterable[int]) -> AnswerTally:
        """One answer for each seed. Only the first is asked with the whole question: random weights do not read it."""
        found = AnswerTally()
        for at, seed in enumerate(seeds):
            answer = model.ask(self._question if not at else "Improve the block.", self._grammar, self._tokens, seed)
            assert isinstance(answer, Answer)
            found.answers += 1
            found.complete += answer.complete
            try:
                script, _ = read_answer(answer.text, self._words, answer.complete)
            except AnswerError as error:
                found.unread.append(f"{error}: {answer.text!r}")
                continue
            self._count(script, found)
        return found

    def _count(self, script: EditScript, found: AnswerTally) -> None:
        if not script:
            found.empty += 1
            return
        if script not in self._known:
            found.judged += 1
            self._known[script] = self._judged(script, found)
        result = self._known[script]
        if isinstance(result, Acceptance):
            found.accepted += 1
        else:
            found.rejected[result] += 1

    def _judged(self, script: EditScript, found: AnswerTally) -> Acceptance | str:
        result = self._bench.judged(self._region, Proposal(script, "model", "answer"))
        if not isinstance(result, Acceptance):
            return result.class_
        problem = self._problem(result)
        if problem:
            found.unsafe.append(f"{script}: {problem}")
        return result

    def _problem(self, accepted: Acceptance) -> str:
        """What other judges than the chain say against a change."""
        program = self._bench.program
        made = self._judge.parse(apply_edits(program.source.text, accepted.candidate.edits))
        before, after = self._region.function, next(one for one in made.functions if one.name == "k")
        grown = len(after.instructions) - len(before.instructions)
        old = before.instructions[self._region.first : self._region.end]
        new = after.instructions[self._region.first : self._region.end + grown]
        rest = [*before.instructions[: self._region.first], *before.instructions[self._region.end :]]
        kept = [*after.instructions[: self._region.first], *after.instructions[self._region.end + grown :]]
        if [one.statement.text for one in rest] != [one.statement.text for one in kept]:
            return "something outside the region changed"
        run = run_both(
            _code(old), _code(new), self._region.live_out, target=before.target, wave_size=before.wave_size, waves=32
        )
        if run.different:
            return f"{run.different} differs when both are executed"
        fresh = self._judge.findings(made) - self._judge.findings(program)
        return f"new findings: {fresh}" if fresh else self._judge.assembles(made) or ""


def _code(instructions: tuple[Instruction, ...]) -> list[object]:
    return [one.decoded for one in instructions]
