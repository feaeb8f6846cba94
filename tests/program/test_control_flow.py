"""Functions, blocks and edges of small programs."""

from __future__ import annotations

from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import RETURN, Function, Program
from asmevo_gate.source.parser import parse_source


def program(text: str, gpu: str = "gfx90a") -> Program:
    return build_program(parse_source("k.s", text), parse_target(gpu))


def function(text: str, gpu: str = "gfx90a") -> Function:
    (only,) = program(text, gpu).functions
    return only


def edges(one: Function) -> list[tuple[int, ...]]:
    return [block.successors for block in one.blocks]


def test_a_loop_has_a_back_edge_and_falls_through() -> None:
    one = function("k:\n s_nop 0\n.L:\n s_sub_u32 s0, s0, 1\n s_cbranch_scc0 .L\n s_endpgm\n")
    assert edges(one) == [(1,), (1, 2), ()]
    assert [block.label for block in one.blocks] == ["k", ".L", ""]
    assert one.blocks[1].predecessors == (0, 1)


def test_a_branch_over_code_reaches_its_label_only() -> None:
    one = function("k:\n s_branch .L\n s_nop 0\n.L:\n s_endpgm\n")
    assert edges(one) == [(2,), (2,), ()]


def test_running_past_the_last_instruction_is_noted() -> None:
    assert function("k:\n s_nop 0\n v_mov_b32 v0, v1\n").blocks[-1].falls_off
    assert not function("k:\n s_nop 0\n s_endpgm\n").blocks[-1].falls_off


def test_an_abort_ends_a_function_and_the_padding_behind_it_is_none_of_it() -> None:
    one = function("k:\n s_cbranch_scc0 .L\n s_endpgm\n.L:\n s_trap 2\n .fill 64, 4, 0xbf800000\n")
    assert len(one.instructions) == 3
    assert not one.blocks[-1].falls_off
    assert function("k:\n s_trap 3\n").blocks[-1].falls_off
    assert edges(function("k:\n s_trap 2\n.L:\n s_endpgm\n")) == [(1,), ()]


def test_a_branch_to_a_label_that_the_function_lacks_leaves_it_with_a_reason() -> None:
    block = function("k:\n s_cbranch_scc0 elsewhere\n s_endpgm\n").blocks[0]
    assert "elsewhere" in block.leaves
    assert block.successors == (1,)


def test_a_long_branch_is_followed() -> None:
    one = function(
        "k:\n s_getpc_b64 s[4:5]\n.Lpost:\n s_add_u32 s4, s4, (.Lfar-.Lpost)&4294967295\n"
        " s_addc_u32 s5, s5, (.Lfar-.Lpost)>>32\n s_setpc_b64 s[4:5]\n s_nop 0\n.Lfar:\n s_endpgm\n"
    )
    last = next(block for block in one.blocks if block.label == ".Lfar")
    jump = next(block for block in one.blocks if block.end == 4)
    assert jump.successors == (last.number,)
    assert jump.leaves == ""


_FAR_ENTRY = "k:\n s_getpc_b64 s[4:5]\n s_add_i32 s6, {label}, {number}\n"
_FAR_FORWARD = " s_add_u32 s4, s4, s6\n s_addc_u32 s5, s5, 0\n s_setpc_b64 s[4:5]\n"
_FAR_BACK = " s_abs_i32 s6, s6\n s_sub_u32 s4, s4, s6\n s_subb_u32 s5, s5, 0\n s_setpc_b64 s[4:5]\n"
_FAR_END = " s_nop 0\nfar:\n s_nop 1\n s_endpgm\n"


def far_jumps(text: str) -> list[tuple[str, ...]]:
    """Labels that the blocks ending in s_setpc_b64 go to, or why that is not known."""
    one = function(text)
    ends = [block for block in one.blocks if one.instructions[block.end - 1].statement.name == "s_setpc_b64"]
    return [tuple(one.blocks[number].label for number in block.successors) or (block.leaves,) for block in ends]


def test_an_offset_in_a_register_of_its_own_is_followed() -> None:
    assert far_jumps(_FAR_ENTRY.format(label="far", number=4) + _FAR_FORWARD + _FAR_END) == [("far",)]


def test_both_signs_of_an_offset_are_followed() -> None:
    entry = _FAR_ENTRY.format(label="far", number=4) + " s_cmp_ge_i32 s6, 0\n s_cbranch_scc1 positive\n"
    assert far_jumps(entry + _FAR_BACK + "positive:\n" + _FAR_FORWARD + _FAR_END) == [("far",), ("far",)]


def test_an_offset_that_does_not_lead_to_the_label_is_not_followed() -> None:
    wrong = far_jumps(_FAR_ENTRY.format(label="far", number=8) + _FAR_FORWARD + _FAR_END)
    late = far_jumps(
        _FAR_ENTRY.format(label="far", number=4).replace(" s_add", " s_nop 0\n s_add") + _FAR_FORWARD + _FAR_END
    )
    assert "not known" in wrong[0][0]
    assert "not known" in late[0][0]


def test_a_jump_that_is_reached_from_elsewhere_is_not_followed() -> None:
    text = _FAR_ENTRY.format(label="far", number=4) + "inside:\n" + _FAR_FORWARD + _FAR_END
    assert "not known" in far_jumps(text + " s_branch inside\n")[0][0]


def test_a_jump_to_an_unknown_address_is_never_dropped() -> None:
    block = function("k:\n s_setpc_b64 s[4:5]\n").blocks[0]
    assert block.successors == ()
    assert "s_setpc_b64" in block.leaves


def test_a_jump_to_the_return_address_is_a_return() -> None:
    assert function("f:\n s_nop 0\n s_setpc_b64 s[30:31]\n").blocks[0].leaves == RETURN


_SUBROUTINE = "k:\n s_swappc_b64 s[8:9], s[6:7]\n s_endpgm\nsub:\n v_mov_b32 v0, 0\n s_setpc_b64 s[8:9]\n"


def test_a_jump_through_the_link_register_of_a_call_is_a_return() -> None:
    assert function(_SUBROUTINE).blocks[-1].leaves == RETURN


def test_a_jump_through_a_link_register_that_something_else_writes_is_not_known() -> None:
    assert "not known" in function(_SUBROUTINE.replace("v_mov_b32 v0", "s_mov_b32 s8")).blocks[-1].leaves


def test_a_call_comes_back_behind_itself() -> None:
    one = function("k:\n s_swappc_b64 s[30:31], s[4:5]\n s_endpgm\n")
    assert edges(one) == [(1,), ()]


def test_functions_start_at_declared_symbols() -> None:
    one = program(".type a,@function\na:\n s_endpgm\n.Lx:\n s_nop 0\n.type b,@function\nb:\n s_setpc_b64 s[30:31]\n")
    assert [(f.name, len(f.instructions)) for f in one.functions] == [("a", 2), ("b", 1)]


def test_words_behind_the_end_of_a_kernel_are_padding() -> None:
    one = function("k:\n s_endpgm\n .fill 48, 4, 3212836864\n")
    assert len(one.instructions) == 1


def test_fill_without_a_label_is_no_function() -> None:
    text = '.section .text.k,"ax"\nk:\n s_endpgm\n.text\n .p2alignl 6, 3212836864\n .fill 256, 4, 3212836864\n'
    assert [(one.name, len(one.instructions)) for one in program(text).functions] == [("k", 1)]


def test_fill_with_a_label_stays_unknown() -> None:
    one = function("k:\n .fill 2, 4, 3212836864\n s_endpgm\n")
    assert one.instructions[0].unknown is not None


def test_the_return_from_a_trap_handler_ends_the_program() -> None:
    block = function("f:\n s_nop 0\n s_rfe_b64 s[4:5]\n").blocks[0]
    assert (block.successors, block.leaves, block.falls_off) == ((), "", False)


def test_words_that_control_may_reach_stay_unknown() -> None:
    one = function("k:\n .long 0xbf800000\n s_endpgm\n")
    unknown = one.instructions[0].unknown
    assert unknown is not None
    assert unknown.kind == "machine_words"


def test_an_instruction_that_is_not_in_the_table_is_kept_with_its_line() -> None:
    one = function("k:\n v_frobnicate_b32 v0, v1\n s_endpgm\n")
    assert one.instructions[0].decoded is None
    assert one.instructions[0].statement.place.line == 2
