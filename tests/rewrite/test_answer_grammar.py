"""The language of answers: every sentence of a block's grammar is read, fits its limits and applies to the block."""

from __future__ import annotations

from random import Random

import pytest

from asmevo_gate.isa.registers import SGPRS, VGPRS
from asmevo_gate.rewrite.answer_grammar import (
    MOST_EDITS,
    AnswerError,
    edits_within,
    grammar,
    read_answer,
    tokens_for,
)
from asmevo_gate.rewrite.answer_vocabulary import Part, Vocabulary, vocabulary
from asmevo_gate.rewrite.dependences import dependences
from asmevo_gate.rewrite.edit_script import Delete, EditScript, Move, Replace, ReplaceOperand, result_texts
from asmevo_gate.rewrite.proposal import Situation
from tests.rewrite.grammar_walk import Grammar
from tests.rewrite.kernels import kernel
from tests.rewrite.situations import largest

FUSES = (
    "  v_lshlrev_b32_e32 v9, 4, v4\n  s_mov_b32 s6, 0x40\n  v_add_u32_e32 v10, v9, v5\n  v_and_b32_e32 v11, s6, v6\n"
    "  v_or_b32_e32 v12, v11, v10\n  v_mul_lo_u32 v8, v12, v7\n"
)
WIDE = (
    "  v_lshlrev_b64 v[10:11], 3, v[4:5]\n  v_mov_b32_e32 v9, 1.0\n  v_fma_f32 v12, -v9, |v6|, v7\n"
    "  v_mov_b32_dpp v13, v12 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n  v_add_f32_e32 v8, v13, v11\n"
)
SCALAR = "  s_add_u32 s6, s4, s5\n  s_addc_u32 s7, s4, 0\n  s_lshl_b64 s[8:9], s[6:7], 2\n  v_mov_b32_e32 v8, s8\n"
DUAL = (
    "  v_dual_mul_f32 v8, v4, v5 :: v_dual_add_f32 v9, v5, v6\n  v_exp_f32_e32 v10, v8\n  v_add_f32_e32 v8, v10, v9\n"
)
BLOCKS = [("gfx90a", FUSES), ("gfx942", WIDE), ("gfx90a", SCALAR), ("gfx1100", DUAL), ("gfx1100", FUSES)]


def situation_of(gpu: str, body: str) -> Situation:
    spelled = body.replace("v_add_u32", "v_add_nc_u32") if gpu == "gfx1100" else body
    return largest(kernel(spelled, gpu), gpu)


def words_of(situation: Situation, part: Part | None = None) -> Vocabulary:
    return vocabulary(situation, part or Part(0, len(situation.decoded)), dependences(situation))


@pytest.mark.parametrize(("gpu", "body"), BLOCKS)
def test_every_sentence_is_an_answer_that_fits_the_block(gpu: str, body: str) -> None:
    situation = situation_of(gpu, body)
    size = len(situation.decoded)
    for part in (Part(0, size), Part(1, size), Part(0, size - 1)):
        words = words_of(situation, part)
        edits = edits_within(words, 384)
        walk, random = Grammar(grammar(words, edits)), Random(1)
        longest = 0
        for _ in range(400):
            text = walk.sentence(random)
            longest = max(longest, len(text))
            script, lines = read_answer(text, words)
            assert len(lines) == len(script) <= edits
            if not _sets_what_it_wrote(script):
                result_texts(situation.region, script)
            for edit in script:
                number = getattr(edit, "number", part.first)
                assert part.first <= number < part.end
        assert longest < tokens_for(words, edits) <= 384


def _sets_what_it_wrote(script: EditScript) -> bool:
    """The one thing that a sentence can say and a script cannot do: an operand of an instruction that it replaced."""
    written = {edit.number for edit in script if isinstance(edit, Replace)}
    return any(isinstance(edit, ReplaceOperand) and edit.number in written for edit in script)


def test_longest_sentence_fits_whatever_the_tokens_are() -> None:
    words = words_of(situation_of(*BLOCKS[0]))
    for limit in (16, 64, 200, 384, 4096):
        edits = edits_within(words, limit)
        assert 1 <= edits <= MOST_EDITS
        assert edits == 1 or tokens_for(words, edits) <= limit
        walk, random = Grammar(grammar(words, edits)), Random(limit)
        assert max(len(walk.sentence(random)) for _ in range(300)) < tokens_for(words, edits)


def test_only_numbers_registers_and_free_registers_of_the_block_are_named() -> None:
    situation = situation_of("gfx90a", FUSES)
    words = words_of(situation)
    region = situation.region
    touched = region.reads | region.writes
    named = {name for kind, names in words.names.items() if kind[0] in "vs" and kind != "value" for name in names}
    assert {"v4", "v8", "v12", "s6"} <= named
    assert "v40" not in named and "s30" not in named
    needed = (region.live_in | region.live_out | touched) & (VGPRS | SGPRS)
    for name in words.free:
        index = int(name[1:]) + (0 if name[0] == "v" else 1280)
        assert not needed >> index & 1, f"{name} is not free"
    assert not any(kind.startswith("free") and set(names) - set(words.free) for kind, names in words.names.items())


def test_moves_keep_the_dependences() -> None:
    situation = situation_of("gfx90a", FUSES)
    texts = [one.text for one in situation.decoded]
    places = dict(words_of(situation).moves)
    shift, add = (next(at for at, text in enumerate(texts) if text.startswith(name)) for name in ("v_lshl", "v_add"))
    assert all(slot <= add for slot in places.get(shift, ())), "the shift stays in front of the addition that reads it"
    assert all(slot > shift for slot in places[add])


def test_fused_forms_are_those_of_the_gpu_and_of_the_settings() -> None:
    def fused(gpu: str, body: str, **options: object) -> set[str]:
        situation = largest(kernel(body, gpu), gpu, **options)
        return {form.mnemonic for form in words_of(situation).forms}

    body = "  v_mul_u32_u24_e32 v9, v4, v5\n  v_add_u32_e32 v8, v9, v6\n"
    assert "v_mad_u32_u24" in fused("gfx90a", body)
    assert "v_mad_u32_u24" not in fused("gfx90a", body, mac_merge=False)
    assert "v_add3_u32" in fused("gfx90a", body)
    xor = "  v_xor_b32_e32 v9, v4, v5\n  v_xor_b32_e32 v8, v9, v6\n"
    assert "v_xor3_b32" in fused("gfx1100", xor)
    assert "v_xor3_b32" not in fused("gfx90a", xor), "gfx90a has no v_xor3_b32"


WRONG = [
    "",
    "don",
    "delete 0",
    "delete 0\n",
    "delete 99\ndone",
    "delete -1\ndone",
    "delete 0 \ndone",
    "DELETE 0\ndone",
    "move 0 before 0\ndone",
    "move 1 before 99\ndone",
    "set 0.0 v999\ndone",
    "set 0.9 v4\ndone",
    "set 1.0 exec\ndone",
    "insert v_mov_b32 v4, v5 before 0\ndone",
    "insert s_setreg_b32 v4, v5 before 0\ndone",
    "write 0: s_endpgm \ndone",
    "write 0: global_store_dword v4, v5, off\ndone",
    "write 0: v_add_u32_e32 v8, v4\ndone",
    "write 0: v_add_u32_e32 v8, v4, v5 ; x\ndone",
    "write 0: v_add_u32_e32 v8, v4, v5\n.globl k\ndone",
    "branch 0\ndone",
    "delete 0\n" * (MOST_EDITS + 1) + "done",
    "done\ndone",
    "done\n",
    "delete ٣\ndone",
]


@pytest.mark.parametrize("text", WRONG)
def test_everything_else_is_refused(text: str) -> None:
    words = words_of(situation_of("gfx90a", FUSES))
    with pytest.raises(AnswerError):
        read_answer(text, words)


def test_of_an_answer_that_was_cut_the_whole_lines_count() -> None:
    words = words_of(situation_of("gfx90a", FUSES))
    script, lines = read_answer("delete 3\ndelete 2\nmove 1 bef", words, complete=False)
    assert script == (Delete(3), Delete(2)) and len(lines) == 2
    assert read_answer("del", words, complete=False) == ((), ())
    with pytest.raises(AnswerError):
        read_answer("delete 99\nmo", words, complete=False)


def test_numbers_of_a_part_become_numbers_of_the_region() -> None:
    situation = situation_of("gfx90a", FUSES)
    size = len(situation.decoded)
    words = words_of(situation, Part(2, size))
    number, slots = words.moves[0]
    operand = words.operands[0]
    name = words.names[operand[2]][0]
    form = words.forms[0]
    text = (
        f"move {number} before {slots[-1]}\nset {operand[0]}.{operand[1]} {name}\n"
        f"write 0: {form.mnemonic} {', '.join(words.names[kind][0] for kind in form.kinds)}\ndone"
    )
    move, set_, write = read_answer(text, words)[0]
    assert move == Move(number + 2, slots[-1] + 2)
    assert isinstance(set_, ReplaceOperand) and set_.number == operand[0] + 2
    assert isinstance(write, Replace) and write.number == 2
