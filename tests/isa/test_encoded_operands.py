"""hwreg(), sendmsg(), swizzle() and delay fields as numbers."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.encoded_operands import (
    HardwareRegister,
    Message,
    delay,
    hardware_register,
    is_message,
    message,
    swizzle,
)
from asmevo_gate.isa.targets import find_target


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("gfx942", "hwreg(HW_REG_MODE, 0, 4)", HardwareRegister(1, 0, 4)),
        ("gfx942", "hwreg(HW_REG_STATUS)", HardwareRegister(2, 0, 32)),
        ("gfx1030", "hwreg(20,1+1)", HardwareRegister(20, 2, 32)),
        ("gfx942", "0x1801", HardwareRegister(1, 0, 4)),
        ("gfx1200", "hwreg(HW_REG_WAVE_MODE, 25, 1)", HardwareRegister(1, 25, 1)),
        ("gfx942", "hwreg(HW_REG_NO_SUCH)", None),
        ("gfx942", "hwreg(HW_REG_MODE, n, 4)", None),
    ],
)
def test_hardware_registers(target: str, text: str, expected: HardwareRegister | None) -> None:
    assert hardware_register(text, find_target(target)) == expected


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("gfx1100", "sendmsg(MSG_DEALLOC_VGPRS)", Message(3)),
        ("gfx942", "sendmsg(MSG_INTERRUPT)", Message(1)),
        ("gfx900", "sendmsg(MSG_GS, GS_OP_EMIT, 1)", Message(2, 2, 1)),
        ("gfx900", "sendmsg(2, 2, 1)", Message(2, 2, 1)),
        ("gfx900", "0x122", Message(2, 2, 1)),
        ("gfx1100", "0x83", Message(0x83)),
        ("gfx942", "sendmsg(MSG_DEALLOC_VGPRS)", None),
    ],
)
def test_messages(target: str, text: str, expected: Message | None) -> None:
    assert message(text, find_target(target)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("swizzle(QUAD_PERM, 0, 1, 2, 3)", 0x80E4),
        ('swizzle(BITMASK_PERM, "01pip")', 0x0907),
        ("swizzle(BROADCAST, 8, 7)", 0xF8),
        ("swizzle(SWAP, 16)", 0x401F),
        ("swizzle(REVERSE, 32)", 0x7C1F),
        ("0xffff", 0xFFFF),
        ("swizzle(BROADCAST, 3, 1)", None),
    ],
)
def test_swizzle_patterns(text: str, expected: int | None) -> None:
    assert swizzle(text) == expected


def test_delay_fields() -> None:
    target = find_target("gfx1100")
    fields = delay("instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)", target)
    assert fields == {"instid0": 1, "instskip": 1, "instid1": 9}
    assert delay("0x91", target) == {"instid0": 1, "instskip": 1, "instid1": 1}
    assert delay("instid0(NEVER)", target) is None


@pytest.mark.parametrize(
    ("gpu", "text", "frees"),
    [
        ("gfx1100", "sendmsg(MSG_DEALLOC_VGPRS)", True),
        ("gfx1200", "3", True),
        ("gfx1250", "sendmsg(3)", True),
        ("gfx1100", "sendmsg(MSG_INTERRUPT)", False),
        ("gfx900", "3", False),  # MSG_GS_DONE there
        ("gfx1030", "sendmsg(MSG_GS_DONE, GS_OP_NOP)", False),
        ("gfx1100", "s0", False),
    ],
)
def test_a_message_is_one_of_its_target_in_every_spelling(gpu: str, text: str, frees: bool) -> None:
    assert is_message(text, "MSG_DEALLOC_VGPRS", find_target(gpu)) == frees
