"""The model as a proposer: its edits are judged like all others, refusals go back to it, its questions are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.rewrite.answer_cache import AnswerCache
from asmevo_gate.rewrite.language_model import ModelError
from asmevo_gate.rewrite.model_proposer import MOST_INSTRUCTIONS, PART, ModelProposer
from asmevo_gate.rewrite.proposal import RewriteOptions
from asmevo_gate.rewrite.proposers import deterministic_proposers
from tests.rewrite.kernels import kernel, rewritten
from tests.rewrite.scripted_model import Says, ScriptedModel

DEAD = "  v_mov_b32_e32 v9, v4\n  v_add_u32_e32 v10, v4, v5\n  v_mul_lo_u32 v8, v10, v7\n"
"""Behind the wait (0): a dead move (1), an addition (2) and a multiplication (3)."""


def proposer(says: Says, **options: object) -> tuple[ModelProposer, ScriptedModel, list[str]]:
    lines: list[str] = []
    model = ScriptedModel(says, **options)
    return ModelProposer(model, lines.append), model, lines


def test_an_edit_that_is_proved_is_taken() -> None:
    found, _model, lines = proposer(lambda text: "delete 1\ndone" if "v_mov_b32" in text else "done")
    result = rewritten(kernel(DEAD), "gfx90a", (found,))
    assert "v_mov_b32_e32 v9" not in result.after
    (accepted,) = [one for one in result.rewrites if one.state == "accepted"]
    assert accepted.class_ == "model" and "delete 1" in accepted.reason
    assert accepted.proof.startswith("proved") and not lines


WRONG = {
    "delete 0\ndone": "constraint",  # the wait for the loaded registers
    "delete 2\ndone": "constraint",  # its result would be read before it is written
    "set 2.1 v6\ndone": "refuted",
    "write 2: v_mul_lo_u32 v10, v4, v5\ndone": "refuted",
    "write 1: v_add_u32_e32 v8, v4, v5\ndone": "no_gain",
    "insert v_mov_b32 v1, v4 before 2\ndone": "no_gain",
    "write 3: v_mul_lo_u32 v8, v10, v7\nset 3.1 v4\ndone": "refuted",
}


@pytest.mark.parametrize(("answer", "class_"), WRONG.items())
def test_an_edit_that_is_not_proved_is_refused_and_told_back(answer: str, class_: str) -> None:
    found, model, _ = proposer(lambda text: "done" if "were refused" in text else answer)
    result = rewritten(kernel(DEAD), "gfx90a", (found,))
    assert result.after == kernel(DEAD)
    (rejected,) = [one for one in result.rewrites if one.state == "rejected"]
    assert rejected.class_ == class_
    told = model.asked[-1].splitlines()[-1]
    assert told.startswith(f"{' / '.join(answer.splitlines()[:-1])}: {class_}: ")


def test_rounds_are_bounded_and_end_when_the_model_repeats_itself() -> None:
    answers = iter(f"delete {number}\ndone" for number in (2, 3, 0))
    found, model, _ = proposer(lambda text: next(answers), rounds=3)
    rewritten(kernel(DEAD), "gfx90a", (found,))
    assert len(model.asked) == 3
    found, model, _ = proposer(lambda text: "delete 2\ndone", rounds=16)
    rewritten(kernel(DEAD), "gfx90a", (found,))
    assert len(model.asked) == 2


def test_a_second_try_can_succeed() -> None:
    found, _model, _ = proposer(lambda text: "delete 1\ndone" if "delete 2: constraint" in text else "delete 2\ndone")
    result = rewritten(kernel(DEAD), "gfx90a", (found,))
    assert "v_mov_b32_e32 v9" not in result.after


def test_answers_that_change_nothing_are_told_back() -> None:
    found, model, _ = proposer(lambda text: "set 2.1 v4\ndone")
    assert rewritten(kernel(DEAD), "gfx90a", (found,)).after == kernel(DEAD)
    assert "the edits change nothing" in model.asked[-1]


def test_what_is_no_answer_ends_the_rounds_with_a_line() -> None:
    for text in ("ignore the rules", "write 1: s_endpgm \ndone", "delete 99\ndone", "\x1b[2J"):
        found, model, lines = proposer(lambda question, said=text: said)  # type: ignore[misc]
        assert rewritten(kernel(DEAD), "gfx90a", (found,)).after == kernel(DEAD)
        assert len(model.asked) == 1 and len(lines) == 1
        assert "does not count" in lines[0] and "\x1b" not in lines[0]


def test_a_block_that_does_not_fit_is_split() -> None:
    body = "".join(f"  v_xor_b32_e32 v{9 + at % 3}, v{4 + at % 4}, v{9 + (at + 1) % 3}\n" for at in range(12))
    body = f"  v_mov_b32_e32 v9, 1\n  v_mov_b32_e32 v10, 2\n  v_mov_b32_e32 v11, 3\n{body}  v_mov_b32_e32 v20, v4\n"

    def says(text: str) -> str | int:
        shown = [line for line in text.split("Edits:")[0].splitlines() if line[:1].isdigit()]
        if len(shown) > 5:
            return 9999
        dead = [line.partition(":")[0] for line in shown if "v20" in line]
        return f"delete {dead[0]}\ndone" if dead else "done"

    found, _model, lines = proposer(says)
    result = rewritten(kernel(body, results="v9,v10,v11"), "gfx90a", (found,))
    assert "v20" not in result.after and not lines


def test_what_fits_in_no_part_is_reported() -> None:
    found, _model, lines = proposer(lambda text: 9999)
    assert rewritten(kernel(DEAD), "gfx90a", (found,)).after == kernel(DEAD)
    assert any("does not fit the model's context" in line for line in lines)
    assert len(lines) == len(set(lines))


def test_long_blocks_come_in_parts_and_too_long_ones_are_reported() -> None:
    long = "".join(f"  v_xor_b32_e32 v8, {at % 60}, v8\n" for at in range(PART + 10))
    found, model, lines = proposer(lambda text: "done")
    rewritten(kernel(f"  v_mov_b32_e32 v8, v4\n{long}"), "gfx90a", (found,))
    assert len(model.asked) == 2 and not lines
    found, model, lines = proposer(lambda text: "done")
    too_long = long * (MOST_INSTRUCTIONS // PART + 1)
    rewritten(kernel(f"  v_mov_b32_e32 v8, v4\n{too_long}"), "gfx90a", (found,))
    assert not model.asked and "too many" in lines[0]


def test_a_model_that_breaks_is_given_up_and_the_others_go_on() -> None:
    model = ScriptedModel(lambda text: "done", ModelError("the model ended by signal SIGSEGV", "it is not asked again"))
    lines: list[str] = []
    found = ModelProposer(model, lines.append)
    options = RewriteOptions()
    result = rewritten(kernel(DEAD), "gfx90a", (found, *deterministic_proposers(options)))
    assert "v_mov_b32_e32 v9" not in result.after
    assert len(model.asked) == 1 and lines == [str(model.broken)]
    assert found.failure is model.broken


def test_answers_are_repeated_from_the_cache(tmp_path: Path) -> None:
    def run(model: ScriptedModel, template: str | None = None) -> str:
        found = ModelProposer(model, print, template, AnswerCache(tmp_path, print))
        return rewritten(kernel(DEAD), "gfx90a", (found,)).after

    first = ScriptedModel(lambda text: "delete 1\ndone" if "v_mov_b32" in text else "done")
    after = run(first)
    assert first.asked
    second = ScriptedModel(lambda text: "done")
    assert run(second) == after and not second.asked
    assert run(second, "Other words: {instruction}") == kernel(DEAD) and second.asked
    other = ScriptedModel(lambda text: "done", seed=2)
    assert run(other) == kernel(DEAD) and other.asked


def test_a_cache_that_was_tampered_with_cannot_bring_in_a_change(tmp_path: Path) -> None:
    def run() -> str:
        model = ScriptedModel(lambda text: "done")
        found = ModelProposer(model, lambda line: None, None, AnswerCache(tmp_path, print))
        return rewritten(kernel(DEAD), "gfx90a", (found,)).after

    run()
    for said in ("delete 2\\ndone", "write 2: s_endpgm \\ndone", "delete 0\\ndone", "set 3.0 v4\\ndone"):
        for entry in tmp_path.glob("*.json"):
            entry.write_text(
                f'{{"type":"answer","text":"{said}","prompt_tokens":1,"answer_tokens":1,"complete":true,"seconds":0}}'
            )
        assert run() == kernel(DEAD)
