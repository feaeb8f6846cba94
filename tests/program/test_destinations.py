"""Where jumps of disassembled code go."""

from __future__ import annotations

from asmevo_gate.program.destinations import MachineInstruction, destinations, with_label


def laid_out(*texts: str) -> list[MachineInstruction]:
    """Instructions one behind the other; a hexadecimal literal makes an instruction 8 bytes long."""
    found, offset = [], 0
    for text in texts:
        size = 8 if "0x" in text and not text.startswith("s_branch") else 4
        found.append(MachineInstruction(offset, size, text))
        offset += size
    return found


def test_a_branch_counts_dwords_from_the_next_instruction() -> None:
    assert destinations(laid_out("s_nop 0", "s_branch 2")) == {4: 16}
    assert destinations(laid_out("s_nop 0", "s_nop 0", "s_cbranch_scc0 65533")) == {8: 0}


def test_an_offset_in_a_register_of_its_own_counts_from_behind_the_counter_is_read() -> None:
    code = laid_out("s_getpc_b64 s[4:5]", "s_add_i32 s6, 0x100, 4", "s_add_u32 s4, s4, s6", "s_addc_u32 s5, s5, 0")
    assert destinations(code) == {4: 4 + 0x100 + 4}
    assert with_label(code[1], "far") == "s_add_i32 s6, far, 4"


def test_an_offset_may_be_negative() -> None:
    code = laid_out("s_nop 0", "s_nop 0", "s_getpc_b64 s[4:5]", "s_add_i32 s6, 0xfffffff0, 4")
    assert destinations(code) == {12: 12 - 16 + 4}


def test_an_offset_that_is_added_to_the_counter_is_followed() -> None:
    code = laid_out("s_getpc_b64 s[4:5]", "s_add_u32 s4, s4, 0x40", "s_addc_u32 s5, s5, 0")
    assert destinations(code) == {4: 4 + 0x40}
    assert with_label(code[1], "far") == "s_add_u32 s4, s4, far@rel32@lo+4"


def test_a_sum_of_another_register_is_no_destination() -> None:
    assert destinations(laid_out("s_getpc_b64 s[4:5]", "s_add_u32 s8, s8, 0x40")) == {}
    assert destinations(laid_out("s_getpc_b64 s[4:5]", "s_nop 0", "s_add_i32 s6, 0x100, 4")) == {}
