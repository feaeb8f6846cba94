"""Edit scripts on text: what moves, what stays, and that nothing outside the region changes by a byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.rewrite.edit_script import (
    Delete,
    Edit,
    InsertMove,
    Move,
    Replace,
    ReplaceOperand,
    ScriptError,
    result_texts,
    text_edits,
    with_operand,
)
from asmevo_gate.source.edits import TextEdit, apply_edits
from tests.rewrite.kernels import judge_for, kernel, region_at

BODY = (
    "\tv_add_f32_e32 v8, v4, v5    ; first\n"
    "  ; a line of its own\n"
    "  v_mul_f32_e32 v9, v4, v6  // second\n"
    "\n"
    "    v_mov_b32_e32 v10, 1.0 /* third */\n"
    "  v_sub_f32_e32 v11, v7, v4\n"
)


def edited(script: tuple[Edit, ...], body: str = BODY) -> str:
    text = kernel(body, results="v8,v9,v10,v11")
    program = judge_for("gfx90a").parse(text)
    region = region_at(program, "v_sub_f32_e32 v11, v7, v4")
    # The wait in front of the body is part of its region; numbers here count from the body.
    assert region.instructions[0].statement.text == "s_waitcnt vmcnt(0)"
    new = apply_edits(text, text_edits(region, script, text))
    start, end = text.index(body), text.index(body) + len(body)
    assert new.startswith(text[:start])
    assert new.endswith(text[end:])
    return new[start : len(new) - (len(text) - end)]


def test_moved_instruction_takes_its_line_and_comment_along() -> None:
    assert edited((Move(4, 1),)) == (
        "  v_sub_f32_e32 v11, v7, v4\n"
        "\tv_add_f32_e32 v8, v4, v5    ; first\n"
        "  ; a line of its own\n"
        "  v_mul_f32_e32 v9, v4, v6  // second\n"
        "\n"
        "    v_mov_b32_e32 v10, 1.0 /* third */\n"
    )


def test_replaced_operand_leaves_the_rest_of_the_line() -> None:
    new = edited((ReplaceOperand(1, 2, "v6"), Replace(3, "v_mov_b32_e32 v10, 2.0")))
    assert "\tv_add_f32_e32 v8, v4, v6    ; first\n" in new
    assert "    v_mov_b32_e32 v10, 2.0 /* third */\n" in new


def test_deleted_instruction_takes_its_comment_and_no_other() -> None:
    new = edited((Delete(2),))
    assert "second" not in new
    assert "; a line of its own\n" in new


def test_inserted_move_stands_on_a_line_of_its_own() -> None:
    new = edited((InsertMove(2, "v_mov_b32_e32", "v12", "v4"),))
    assert "v_mov_b32_e32 v12, v4\n  v_mul_f32_e32" in new


def test_operand_is_told_apart_from_equal_text() -> None:
    assert with_operand("v_add_f32_e32 v4, v4, v4", 1, "v9") == "v_add_f32_e32 v4, v9, v4"
    assert with_operand("v_fma_f32 v1, -v1, |v1|, v11", 3, "v1") == "v_fma_f32 v1, -v1, |v1|, v1"


@pytest.mark.parametrize(
    "script",
    [
        (Delete(5),),
        (Delete(-1),),
        (Move(0, 6),),
        (ReplaceOperand(1, 3, "v1"),),
        (ReplaceOperand(1, 0, "v1\n  s_endpgm"),),
        (Replace(1, "v_nop ; s_endpgm"),),
        (Replace(1, "v_nop // x"),),
        (Replace(1, ""),),
        (InsertMove(1, "s_setpc_b64", "s[0:1]", ""),),
        (InsertMove(1, "v_add_f32", "v1", "v2, v3"),),
        tuple(Delete(1) for _ in range(5000)),
    ],
)
def test_script_that_does_not_fit_is_refused(script: tuple[Edit, ...]) -> None:
    with pytest.raises(ScriptError):
        edited(script)


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcdef", [TextEdit(0, 3, ""), TextEdit(2, 4, "")])
    with pytest.raises(ValueError, match="leaves"):
        apply_edits("abc", [TextEdit(2, 4, "")])


LINES = ["  v_add_f32_e32 v8, v4, v5", "\tv_mul_f32_e32 v9, v4, v6", "v_mov_b32_e32 v10, 1.0", "  s_nop 1"]
COMMENTS = ["", " ; c", "  // d", " /* e */"]
BETWEEN = ["", "", "\n", "  ; own line\n", "\t// another\n"]


@st.composite
def bodies(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(*map(st.sampled_from, (BETWEEN, LINES, COMMENTS))), min_size=2, max_size=8))
    return "".join(f"{between}{line}{comment}\n" for between, line, comment in lines) + LINES[0] + "\n"


@st.composite
def scripts(draw: st.DrawFn, count: int) -> tuple[Edit, ...]:
    number = st.integers(1, count - 1)
    edits: list[Edit] = draw(
        st.lists(
            st.one_of(
                st.builds(Move, number, st.integers(1, count)),
                st.builds(Delete, number),
                st.builds(Replace, number, st.just("v_mov_b32_e32 v12, v4")),
                st.builds(InsertMove, st.integers(1, count), st.just("v_mov_b32"), st.just("v13"), st.just("v5")),
            ),
            max_size=6,
        )
    )
    return tuple(edits)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_byte_outside_the_region_changes_and_the_text_reads_as_meant(data: st.DataObject) -> None:
    text = kernel(data.draw(bodies()), results="v8,v9,v10")
    judge = judge_for("gfx90a", assemble=False)
    program = judge.parse(text)
    region = region_at(program, "v_add_f32_e32 v8, v4, v5")
    script = data.draw(scripts(region.end - region.first))
    expected = result_texts(region, script)
    new = apply_edits(text, text_edits(region, script, text))
    first, last = region.instructions[0].statement.place, region.instructions[-1].statement.place
    start, end = text.rindex("\n", 0, first.start) + 1, text.index("\n", last.end) + 1
    assert new[:start] == text[:start]
    assert new.endswith(text[end:])
    function = judge.parse(new).functions[0]
    after = len(program.functions[0].instructions) - region.end
    found = [one.statement.text for one in function.instructions[region.first : len(function.instructions) - after]]
    assert found == expected
    for line in ("  ; own line\n", "\t// another\n"):
        assert new.count(line) == text.count(line)
