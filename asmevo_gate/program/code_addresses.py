"""Addresses of code that a function computes from its program counter, as they lie in its registers.

Two shapes are understood. LLVM's (BranchRelaxation, and calls)::

    s_getpc_b64 P;  s_add_u32 P.lo, P.lo, (LABEL-after)&mask;  s_addc_u32 P.hi, P.hi, ...

and that of Tensile's generator, which makes the offset in a register of its own::

    s_getpc_b64 P;  s_add_i32 T, LABEL, 4
    s_add_u32 P.lo, P.lo, T;  s_addc_u32 P.hi, P.hi, 0                      (offset not negative)
    s_abs_i32 T, T;  s_sub_u32 P.lo, P.lo, T;  s_subb_u32 P.hi, P.hi, 0     (offset negative)

A label as a plain operand is a literal relative to its own place, 4 bytes into the instruction
(AMDGPUMCCodeEmitter), hence the 4 and the place directly behind s_getpc_b64. Copies are followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import SCC
from asmevo_gate.program.model import Instruction

GETS_PC = frozenset(("s_getpc_b64", "s_get_pc_i64"))
_ADDS = frozenset(("s_add_u32", "s_add_i32", "s_add_co_u32", "s_add_co_i32"))
_SUBTRACTS = frozenset(("s_sub_u32", "s_sub_co_u32"))
_WHOLE_ADDS = frozenset(("s_add_u64", "s_add_nc_u64"))
_CARRIES = frozenset(("s_addc_u32", "s_subb_u32", "s_add_co_ci_u32", "s_sub_co_ci_u32"))
_COPIES = frozenset(("s_mov_b32", "s_mov_b64"))
_SELECTS = frozenset(("s_cselect_b32", "s_cselect_b64"))
_SYMBOL = re.compile(r"[A-Za-z_.$][\w.$]*")
_DIFFERENCE = re.compile(r"\(*(?P<label>[A-Za-z_.$][\w.$]*)\s*(?:@rel(?:32|64)(?:@\w+)?|-)")
_NEAR_DISTANCE = 4

_COUNTER_LOW, _COUNTER_HIGH, _OFFSET, _DISTANCE = "counter, low", "counter, high", "offset from it", "absolute offset"
_LOW, _HIGH, _RETURN_LOW, _RETURN_HIGH = "low", "high", "return, low", "return, high"

_CHANGES = {
    "s_abs_i32": (_OFFSET, _DISTANCE),
    # LLVM makes the upper half of the counter a signed number with it on gfx12.
    "s_sext_i32_i16": (_COUNTER_HIGH, _COUNTER_HIGH),
    **dict.fromkeys(_CARRIES, (_COUNTER_HIGH, _HIGH)),
}
"""What an instruction makes of its source: the kind before and behind it."""
_INTERESTING = GETS_PC | _ADDS | _SUBTRACTS | _WHOLE_ADDS | _COPIES | _SELECTS | _CHANGES.keys()


class Part(msgspec.Struct, frozen=True):
    """What a 32-bit register holds: its kind, and what it was made of, as (symbol, index of the s_getpc_b64).
    ``over_call``: only if code that is called elsewhere has left the register alone."""

    kind: str
    of: frozenset[tuple[str, int]]
    over_call: bool = False


Registers = dict[int, Part]
"""What is known of registers, by their number; nothing is known of the others."""

RETURN_PLACE = frozenset(("",))
"""The place behind the call, among those of :func:`places`."""


def return_address(pair: int) -> Registers:
    """What is known at the start of code that is called with this link register pair."""
    nothing: frozenset[tuple[str, int]] = frozenset()
    return {pair: Part(_RETURN_LOW, nothing), pair + 1: Part(_RETURN_HIGH, nothing)}


def places(registers: Registers, pair: Operand, *, over_calls: bool = False) -> frozenset[str] | None:
    """The symbols whose address a register pair may hold, :data:`RETURN_PLACE` for the return address; ``None`` where
    it may hold something else. ``over_calls``: code that is called elsewhere is trusted to leave registers alone."""
    low, high = registers.get(pair.start), registers.get(pair.start + 1)
    if pair.length != 2 or low is None or high is None or ((low.over_call or high.over_call) and not over_calls):
        return None
    if (low.kind, high.kind) == (_RETURN_LOW, _RETURN_HIGH):
        return RETURN_PLACE
    if (low.kind, high.kind) != (_LOW, _HIGH) or _counters(low) != _counters(high):
        return None
    return frozenset(label for label, _ in low.of)


def call_elsewhere(registers: Registers, call: Decoded) -> None:
    """Go past a call of code that is not looked into."""
    for register, part in list(registers.items()):
        registers[register] = msgspec.structs.replace(part, over_call=True)
        if call.writes >> register & 1:
            del registers[register]


def joined(one: Registers, other: Registers) -> Registers:
    """What holds in both cases."""
    found = {}
    for register, part in one.items():
        same = other.get(register)
        if same is not None and same.kind == part.kind:
            found[register] = Part(part.kind, part.of | same.of, part.over_call or same.over_call)
    return found


def may_matter(decoded: Decoded | None, tracked: int) -> bool:
    """Whether an instruction may change what is known of some registers."""
    return decoded is None or bool(decoded.writes & tracked) or (decoded.has_indexed and decoded.of(Op.SALU))


def tracked_registers(decodeds: Iterable[Decoded], used: int) -> int:
    """The registers that addresses in some register pairs may come from, these included."""
    writers = [one for one in decodeds if one.base in _INTERESTING]
    found, before = used, -1
    while found != before:
        before = found
        for one in writers:
            if one.writes & found:
                for operand in one.operands:
                    found |= operand.mask
    return found


def step(registers: Registers, instructions: Sequence[Instruction], first: int, index: int) -> None:
    """Go past an instruction of a block that starts at ``first``."""
    decoded = instructions[index].decoded
    if decoded is None or (decoded.has_indexed and decoded.of(Op.SALU)):
        registers.clear()
        return
    made = _made(registers, decoded, instructions, first, index)
    for register in [register for register in registers if decoded.writes >> register & 1]:
        del registers[register]
    registers.update(made)


def _made(
    registers: Registers, decoded: Decoded, instructions: Sequence[Instruction], first: int, index: int
) -> Registers:
    """What an instruction puts in its destination, as far as that is known."""
    base, operands = decoded.base, decoded.operands
    if base not in _INTERESTING or len(operands) < 1 or operands[0].start < 0:
        return {}
    target = operands[0].start
    if base in GETS_PC:
        here = frozenset((("", index),))
        return {target: Part(_COUNTER_LOW, here), target + 1: Part(_COUNTER_HIGH, here)}
    if base in _COPIES:
        return _copied(registers, operands[0], operands[1])
    if base in _SELECTS:
        return joined(_copied(registers, operands[0], operands[1]), _copied(registers, operands[0], operands[2]))
    source = registers.get(operands[1].start)
    if base in _CHANGES:
        needed, kind = _CHANGES[base]
        if source is None or source.kind != needed:
            return {}
        if base in _CARRIES and (operands[2].start >= 0 or not _carry(registers, source, instructions, first, index)):
            return {}
        return {target: msgspec.structs.replace(source, kind=kind)}
    if base in _WHOLE_ADDS:
        low, high = _sum(registers, operands[1:], _OFFSET), registers.get(operands[1].start + 1)
        if low is None or high is None or high.kind != _COUNTER_HIGH or _counters(low) != _counters(high):
            return {}
        return {target: low, target + 1: msgspec.structs.replace(high, kind=_HIGH)}
    if base in _SUBTRACTS:
        low = _sum(registers, operands[1:], _DISTANCE)
    else:
        counter = instructions[index - 1].decoded if index > first else None
        behind_counter = counter is not None and counter.base in GETS_PC
        near = _near_offset(operands[1:], index - 1) if behind_counter else None
        low = near or _sum(registers, operands[1:], _OFFSET)
    return {target: low} if low is not None else {}


def _copied(registers: Registers, target: Operand, source: Operand) -> Registers:
    if source.start < 0 or source.indexed or source.length != target.length:
        return {}
    parts = ((target.start + number, registers.get(source.start + number)) for number in range(target.length))
    return {register: part for register, part in parts if part is not None}


def _near_offset(sources: Sequence[Operand], counter: int) -> Part | None:
    """``s_add_i32 T, LABEL, 4`` directly behind the s_getpc_b64 at ``counter``."""
    labels = [one.text.strip() for one in sources if one.start < 0 and _SYMBOL.fullmatch(one.text.strip())]
    distance = [one.value for one in sources if one.start < 0 and one.value is not None]
    if len(labels) != 1 or distance != [_NEAR_DISTANCE]:
        return None
    return Part(_OFFSET, frozenset(((labels[0], counter),)))


def _sum(registers: Registers, sources: Sequence[Operand], kind: str) -> Part | None:
    """The counter plus an offset from it, or minus the absolute value of one. Only a negative offset makes the latter
    the address of its label: code that may have either sign asks for it first, and the other way is never taken."""
    if len(sources) != 2:
        return None
    counter, offset = _source(registers, sources[0]), _source(registers, sources[1])
    if kind == _OFFSET and offset is not None and offset.kind == _COUNTER_LOW:
        counter, offset = offset, counter
    if counter is None or offset is None or (counter.kind, offset.kind) != (_COUNTER_LOW, kind):
        return None
    places_of_counter = _counters(counter)
    if len(places_of_counter) != 1 or not _counters(offset) <= places_of_counter | {_ANY}:
        return None
    (place,) = places_of_counter
    of = frozenset((label, place) for label, _ in offset.of)
    return Part(_LOW, of, counter.over_call or offset.over_call)


_ANY = -1
"""In place of the s_getpc_b64 of an offset that the text gives."""


def _source(registers: Registers, operand: Operand) -> Part | None:
    if operand.start >= 0:
        return registers.get(operand.start)
    match = _DIFFERENCE.match(operand.text.strip())
    return Part(_OFFSET, frozenset(((match["label"], _ANY),))) if match else None


def _carry(registers: Registers, high: Part, instructions: Sequence[Instruction], first: int, index: int) -> bool:
    """Whether SCC is still the carry of the addition to the lower half."""
    for place in range(index - 1, first - 1, -1):
        decoded = instructions[place].decoded
        if decoded is None or not decoded.operands:
            return False
        if decoded.writes & SCC:
            low = registers.get(decoded.operands[0].start)
            adds = decoded.base in _ADDS or decoded.base in _SUBTRACTS
            return adds and low is not None and low.kind == _LOW and _counters(low) == _counters(high)
    return False


def _counters(part: Part) -> frozenset[int]:
    return frozenset(place for _, place in part.of)
