"""Which kernel argument a memory instruction's address surely comes from.

Scalar loads from the kernarg segment give registers that hold arguments; arithmetic carries the argument on, as long
as only one is involved. Whatever merges from paths that disagree is not followed any more, so an answer is never a
guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.isa.instruction import VMEM, Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import indices
from asmevo_gate.program.model import Function, Instruction


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
    for accesses in _solve(kernel, pointer):
        yield from accesses


def _kernarg_pointer(kernel: Function) -> int | None:
    """The first register of the pair that holds the kernarg segment address at entry."""
    names = initial_state(kernel).names if kernel.descriptor is not None else {}
    return next((register for register, name in names.items() if name == "kernarg segment address"), None)


_POINTER = -1


class _Origins:
    """Where registers come from: ``of`` gives the byte offset in the kernarg segment of the dword that a register was
    computed from; ``registers`` are those of which that is known."""

    def __init__(self, of: dict[int, int]) -> None:
        self.of = of
        self.registers = sum(1 << register for register in of)

    def copy(self) -> _Origins:
        """The same, to go on from."""
        return _Origins(dict(self.of))

    def common(self, other: _Origins) -> _Origins:
        """What both agree on."""
        return _Origins({register: origin for register, origin in self.of.items() if other.of.get(register) == origin})

    def step(self, decoded: Decoded | None) -> None:
        """Go past an instruction; nothing is known behind one that is not understood."""
        if decoded is None or decoded.is_call:
            self.of.clear()
            self.registers = 0
        elif (decoded.reads | decoded.writes) & self.registers:
            made = _made(decoded, self.of)
            for register in indices(decoded.writes & self.registers):
                del self.of[register]
            self.registers &= ~decoded.writes
            self.of.update(made)
            for register in made:
                self.registers |= 1 << register


def _through(instructions: Iterable[Instruction], state: _Origins) -> list[ArgumentAccess]:
    """Make the origins at the start of a block those at its end; the accesses on the way."""
    found = []
    for instruction in instructions:
        decoded = instruction.decoded
        if decoded is not None and decoded.reads & state.registers and decoded.of(VMEM):
            offset = _address_origin(decoded, state.of)
            if offset is not None:
                stores = decoded.of(Op.STORE) or decoded.of(Op.ATOMIC)
                found.append(ArgumentAccess(instruction, offset, bool(stores)))
        state.step(decoded)
    return found


def _solve(kernel: Function, pointer: int) -> list[list[ArgumentAccess]]:
    """The accesses in each block. The origins at the start of a block are what all paths agree on: they only disappear,
    so this ends; what the last way through a block finds rests on all that enters it."""
    found: list[list[ArgumentAccess]] = [[] for _ in kernel.blocks]
    entering: list[_Origins | None] = [None] * len(kernel.blocks)
    entering[0] = _Origins({pointer: _POINTER, pointer + 1: _POINTER})
    pending = [0]
    while pending:
        block = kernel.blocks[pending.pop()]
        known = entering[block.number]
        assert known is not None  # blocks are taken up when something is known at their start
        state = known.copy()
        found[block.number] = _through(kernel.instructions[block.first : block.end], state)
        for successor in block.successors:
            old = entering[successor]
            new = state.copy() if old is None else old.common(state)
            if old is None or len(new.of) < len(old.of):
                entering[successor] = new
                pending.append(successor)
    return found


def _made(decoded: Decoded, origins: dict[int, int]) -> dict[int, int]:
    """The origins of what an instruction writes, where they are known."""
    if decoded.of(Op.SMEM) and decoded.of(Op.LOAD):
        return _loaded(decoded, origins)
    made: dict[int, int] = {}
    if decoded.of(Op.SALU | Op.VALU) and not decoded.of(Op.SMEM):
        for one in decoded.halves or (decoded,):
            origin = _single_origin(one, origins)
            if origin is not None:
                made.update(dict.fromkeys(indices(one.writes & ~one.implicit_writes), origin))
    return made


def _loaded(decoded: Decoded, origins: dict[int, int]) -> dict[int, int]:
    """The dwords of the kernarg segment that a scalar load with a constant offset brings."""
    destination, base, *rest = decoded.operands
    if base.length != 2 or any(origins.get(base.start + half) != _POINTER for half in (0, 1)):
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


def _single_origin(decoded: Decoded, origins: dict[int, int]) -> int | None:
    """The argument that all traced sources of an arithmetic instruction share. The two dwords of one 64-bit argument
    are one origin: its lower dword's."""
    shared = None
    for operand in decoded.operands:
        if operand.role & Role.READ:
            for register in range(operand.start, operand.start + operand.length):
                origin = origins.get(register, _POINTER)
                if origin != _POINTER:
                    origin -= origin % 8
                    if shared is not None and shared != origin:
                        return None
                    shared = origin
    return shared


def _address_origin(decoded: Decoded, known: dict[int, int]) -> int | None:
    """Origin of the address operands: register pairs, and the 128-bit resource of buffer instructions, that are read
    and are not the data."""
    data = _data_operand(decoded)
    found = set()
    for operand in decoded.operands:
        if operand is data or not operand.role & Role.READ or operand.length not in (2, 4):
            continue
        origins = [known.get(register) for register in indices(operand.mask)][:2]
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
