"""Which kernel argument a memory instruction's address surely comes from.

Scalar loads from the kernarg segment give registers that hold arguments; arithmetic carries the argument on, as long
as only one is involved. Whatever merges from paths that disagree is not followed any more, so an answer is never a
guess.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.isa.instruction import VMEM, Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import indices
from asmevo_gate.program.model import Function, Instruction

_Origins = dict[int, int]
"""Register -> byte offset in the kernarg segment of the dword that it was computed from."""


class ArgumentAccess(msgspec.Struct, frozen=True):
    """A memory access through a kernel argument; ``offset`` is the byte offset of a dword of that argument."""

    instruction: Instruction
    offset: int
    stores: bool


def argument_accesses(kernel: Function) -> Iterator[ArgumentAccess]:
    """The global and buffer accesses whose address surely comes from one kernel argument."""
    pointer = _kernarg_pointer(kernel)
    if pointer is None:
        return
    for block, origins in zip(kernel.blocks, _solve(kernel, pointer), strict=True):
        if origins is None:
            continue
        state = dict(origins)
        for instruction in kernel.instructions[block.first : block.end]:
            decoded = instruction.decoded
            if decoded is None:
                state.clear()
                continue
            if decoded.of(VMEM):
                offset = _address_origin(decoded, state)
                if offset is not None:
                    stores = decoded.of(Op.STORE) or decoded.of(Op.ATOMIC)
                    yield ArgumentAccess(instruction, offset, bool(stores))
            _step(decoded, state, pointer)


def _kernarg_pointer(kernel: Function) -> int | None:
    """The first register of the pair that holds the kernarg segment address at entry."""
    names = initial_state(kernel).names if kernel.descriptor is not None else {}
    return next((register for register, name in names.items() if name == "kernarg segment address"), None)


_POINTER = -1


def _solve(kernel: Function, pointer: int) -> list[_Origins | None]:
    """Origins at the start of each block: what all paths agree on. Entries only disappear, so this ends."""
    entering: list[_Origins | None] = [None] * len(kernel.blocks)
    entering[0] = {pointer: _POINTER, pointer + 1: _POINTER}
    pending = [0]
    while pending:
        block = kernel.blocks[pending.pop()]
        state = dict(entering[block.number] or {})
        for instruction in kernel.instructions[block.first : block.end]:
            if instruction.decoded is None or instruction.decoded.is_call:
                state.clear()
            else:
                _step(instruction.decoded, state, pointer)
        for successor in block.successors:
            old = entering[successor]
            new = state if old is None else {key: value for key, value in old.items() if state.get(key) == value}
            if new != old:
                entering[successor] = dict(new)
                pending.append(successor)
    return entering


def _step(decoded: Decoded, state: _Origins, pointer: int) -> None:
    made: _Origins = {}
    if decoded.of(Op.SMEM) and decoded.of(Op.LOAD):
        made = _loaded(decoded, state)
    elif decoded.of(Op.SALU | Op.VALU) and not decoded.of(Op.SMEM):
        for one in decoded.halves or (decoded,):
            origin = _single_origin(one, state)
            if origin is not None:
                made.update(dict.fromkeys(indices(one.writes & ~one.implicit_writes), origin))
    for register in indices(decoded.writes):
        state.pop(register, None)
    state.update(made)


def _loaded(decoded: Decoded, state: _Origins) -> _Origins:
    """The dwords of the kernarg segment that a scalar load with a constant offset brings."""
    destination, base, *rest = decoded.operands
    if base.length != 2 or any(state.get(base.start + half) != _POINTER for half in (0, 1)):
        return {}
    offset = _constant_offset(decoded, rest)
    if offset is None:
        return {}
    return {destination.start + number: offset + 4 * number for number in range(destination.length)}


def _constant_offset(decoded: Decoded, operands: list[Operand]) -> int | None:
    total = 0
    for operand in operands:
        if operand.length or not isinstance(operand.value, int):
            return 0 if operand.text in ("null", "off") else None
        total += operand.value
    text = decoded.modifiers.get("offset")
    if text is not None:
        try:
            total += int(text, 0)
        except ValueError:
            return None
    return total


def _single_origin(decoded: Decoded, state: _Origins) -> int | None:
    """The argument that all traced sources of an arithmetic instruction share. The two dwords of one 64-bit argument
    are one origin: its lower dword's."""
    found = {
        state[register] - state[register] % 8
        for operand in decoded.operands
        if operand.role & Role.READ
        for register in indices(operand.mask)
        if state.get(register, _POINTER) != _POINTER
    }
    return found.pop() if len(found) == 1 else None


def _address_origin(decoded: Decoded, state: _Origins) -> int | None:
    """Origin of the address operands: register pairs, and the 128-bit resource of buffer instructions, that are read
    and are not the data."""
    data = _data_operand(decoded)
    found = set()
    for operand in decoded.operands:
        if operand is data or not operand.role & Role.READ or operand.length not in (2, 4):
            continue
        origins = [state.get(register) for register in indices(operand.mask)][:2]
        if origins[0] is not None and origins[0] != _POINTER and origins[1] is not None:
            found.add(origins[0] - origins[0] % 8)
    return found.pop() if len(found) == 1 else None


def _data_operand(decoded: Decoded) -> Operand | None:
    """The data of a store: the first operand of a buffer store, the second of a flat or global one."""
    if not decoded.of(Op.STORE | Op.ATOMIC):
        return None
    position = 0 if decoded.of(Op.BUFFER | Op.IMAGE) else 1
    returns = decoded.of(Op.ATOMIC_RETURN) and not decoded.of(Op.BUFFER | Op.IMAGE)
    position += 1 if returns else 0
    return decoded.operands[position] if position < len(decoded.operands) else None
