"""Numbers behind the named operands of scalar instructions: hwreg(), sendmsg(), swizzle(), instid0() and relatives.

The names are data in ``data/encoded_operands.json``.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from asmevo_gate.isa.data_files import read_data
from asmevo_gate.isa.operand_text import evaluate
from asmevo_gate.isa.targets import Target


class _Names(msgspec.Struct, frozen=True):
    source: list[str]
    since: dict[str, dict[str, int]]
    """Family (``waitcnt`` dialect of the target) or ``*`` -> name -> number; the family's entry wins."""


class _Document(msgspec.Struct, frozen=True):
    schema: str
    sources: dict[str, str]
    hardware_registers: _Names
    messages: _Names
    delay: _Names
    skip: _Names


@cache
def _document() -> _Document:
    data = read_data("encoded_operands.json")
    return msgspec.json.decode(data, type=_Document)


class HardwareRegister(msgspec.Struct, frozen=True):
    """The field that ``s_getreg`` / ``s_setreg`` names: register number, first bit, number of bits."""

    number: int
    offset: int = 0
    size: int = 32


_CALL = re.compile(r"\s*(?P<name>[a-z_0-9]+)\s*\((?P<arguments>.*)\)\s*$", re.S)


def hardware_register(text: str, target: Target) -> HardwareRegister | None:
    """``hwreg(HW_REG_MODE, 0, 4)``, ``hwreg(1)`` or a raw 16-bit number; ``None`` when a part is not known.

    The encoding is id in bits 5:0, offset in 10:6, size less one in 15:11 (LLVM: ``AMDGPU::Hwreg``).
    """
    call = _CALL.match(text)
    if call is None:
        raw = evaluate(text)
        if raw is None or not 0 <= raw < 1 << 16:
            return None
        return HardwareRegister(raw & 63, raw >> 6 & 31, (raw >> 11 & 31) + 1)
    if call["name"] != "hwreg":
        return None
    parts = [part.strip() for part in call["arguments"].split(",")]
    number = _named(_document().hardware_registers, parts[0], target)
    rest = [evaluate(part) for part in parts[1:]]
    if number is None or len(rest) > 2 or None in rest:
        return None
    offset, size = ([value for value in rest if value is not None] + [0, 32][len(rest) :])[:2]
    return HardwareRegister(number, offset, size)


class Message(msgspec.Struct, frozen=True):
    """The operand of ``s_sendmsg``: message, operation and stream numbers."""

    number: int
    operation: int = 0
    stream: int = 0


def message(text: str, target: Target) -> Message | None:
    """``sendmsg(MSG_DEALLOC_VGPRS)``, ``sendmsg(MSG_GS, GS_OP_EMIT, 0)`` or a raw number; ``None`` when not known."""
    names = _document().messages
    call = _CALL.match(text)
    wide = "*" if "gfx9" not in target.facts["waitcnt"] and target.facts["waitcnt"] != "gfx10" else ""
    if call is None:
        raw = evaluate(text)
        if raw is None or not 0 <= raw < 1 << 16:
            return None
        return Message(raw & 255) if wide else Message(raw & 15, raw >> 4 & 7, raw >> 8 & 3)
    parts = [_named(names, part.strip(), target) for part in call["arguments"].split(",")]
    if call["name"] != "sendmsg" or None in parts or len(parts) > 3:
        return None
    return Message(*[part for part in parts if part is not None])


def is_message(text: str, name: str, target: Target) -> bool:
    """Whether the operand of ``s_sendmsg``, in whatever spelling, is the message of a name. On a target without that
    message its number means another one."""
    sent, number = message(text, target), _named(_document().messages, name, target)
    return sent is not None and sent.number == number


def swizzle(text: str) -> int | None:
    """The 16-bit offset that ``swizzle(...)`` of ``ds_swizzle_b32`` stands for; ``None`` when a part is not known.

    Modes and encodings as in LLVM's ``AMDGPU::Swizzle``: quad permute sets bit 15, the bit mask mode holds and, or and
    xor masks of five bits each.
    """
    call = _CALL.match(text)
    if call is None:
        return evaluate(text)
    if call["name"] != "swizzle":
        return None
    mode, *rest = (part.strip() for part in call["arguments"].split(","))
    if mode == "BITMASK_PERM" and len(rest) == 1:
        return _bit_mask_pattern(rest[0].strip("\"'"))
    values = [evaluate(part) for part in rest]
    numbers = [value for value in values if value is not None]
    if len(numbers) != len(values):
        return None
    if mode == "QUAD_PERM" and len(numbers) == 4 and all(0 <= lane < 4 for lane in numbers):
        return 0x8000 | sum(lane << 2 * position for position, lane in enumerate(numbers))
    if mode == "BROADCAST" and len(numbers) == 2 and numbers[0] in (2, 4, 8, 16, 32) and 0 <= numbers[1] < numbers[0]:
        return _bit_mask(32 - numbers[0], numbers[1], 0)
    if mode == "SWAP" and len(numbers) == 1 and numbers[0] in (1, 2, 4, 8, 16):
        return _bit_mask(31, 0, numbers[0])
    if mode == "REVERSE" and len(numbers) == 1 and numbers[0] in (2, 4, 8, 16, 32):
        return _bit_mask(31, 0, numbers[0] - 1)
    return None


def _bit_mask(and_mask: int, or_mask: int, xor_mask: int) -> int:
    return and_mask | or_mask << 5 | xor_mask << 10


def _bit_mask_pattern(pattern: str) -> int | None:
    """Five characters, high bit first: ``0`` and ``1`` set the bit, ``p`` keeps it, ``i`` inverts it."""
    if len(pattern) != 5 or set(pattern) - set("01pi"):
        return None
    and_mask = or_mask = xor_mask = 0
    for character in pattern:
        and_mask = and_mask << 1 | (character in "pi")
        or_mask = or_mask << 1 | (character == "1")
        xor_mask = xor_mask << 1 | (character == "i")
    return _bit_mask(and_mask, or_mask, xor_mask)


_DELAY_PART = re.compile(r"\s*(?P<field>instid0|instskip|instid1)\s*\(\s*(?P<value>\w+)\s*\)\s*(?:\||$)")


def delay(text: str, target: Target) -> dict[str, int] | None:
    """The fields ``instid0``, ``instskip`` and ``instid1`` of ``s_delay_alu``; ``None`` when not known.

    ``instid`` numbers: 1-4 VALU_DEP_1..4, 5-7 TRANS32_DEP_1..3, 8 FMA_ACCUM_CYCLE_1, 9-11 SALU_CYCLE_1..3.
    """
    raw = evaluate(text)
    if raw is not None:
        fields = {"instid0": raw & 15, "instskip": raw >> 4 & 7, "instid1": raw >> 7 & 15}
        return fields if 0 <= raw < 1 << 11 else None
    found = {"instid0": 0, "instskip": 0, "instid1": 0}
    position = 0
    while position < len(text):
        part = _DELAY_PART.match(text, position)
        if part is None:
            return None
        names = _document().skip if part["field"] == "instskip" else _document().delay
        value = _named(names, part["value"], target)
        if value is None:
            return None
        found[part["field"]] = value
        position = part.end()
    return found


def _named(names: _Names, text: str, target: Target) -> int | None:
    family = names.since.get(target.facts["waitcnt"], {})
    if text in family:
        return family[text]
    number = names.since.get("*", {}).get(text)
    return evaluate(text) if number is None else number
