"""Which registers may have a value: given by the launch, or written on some path from the entry."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.analysis.initial_state import initial_registers
from asmevo_gate.isa.registers import LINE_LENGTH
from asmevo_gate.program.model import Function, Instruction


def defined_at_block_starts(function: Function) -> list[int]:
    """The bit set of registers that may have a value at the start of each block (union over paths).

    For a device function everything that it reads counts as defined: its arguments are not declared anywhere. A call
    may give any register a value.
    """
    blocks = function.blocks
    if not blocks:
        return []
    written = [_written(function.instructions[block.first : block.end]) for block in blocks]
    defined = [0] * len(blocks)
    defined[0] = initial_registers(function) if function.is_kernel else _read_anywhere(function)
    pending = [0]
    seen = {0}
    while pending:
        number = pending.pop()
        out = defined[number] | written[number]
        for successor in blocks[number].successors:
            merged = defined[successor] | out
            if merged != defined[successor] or successor not in seen:
                seen.add(successor)
                defined[successor] = merged
                pending.append(successor)
    return defined


EVERYTHING = (1 << LINE_LENGTH) - 1


def may_define(instruction: Instruction) -> int:
    """The registers that an instruction may give a value; an unknown instruction and a call may give any."""
    decoded = instruction.decoded
    if decoded is None or decoded.is_call or decoded.has_indexed:
        return EVERYTHING
    return decoded.writes


def defined_before(function: Function) -> Iterator[tuple[Instruction, int]]:
    """Each instruction of a reachable block with the registers that may have a value before it."""
    for block, defined in zip(function.blocks, defined_at_block_starts(function), strict=True):
        if block.number and not defined:
            continue
        for instruction in function.instructions[block.first : block.end]:
            yield instruction, defined
            defined |= may_define(instruction)


def _written(instructions: tuple[Instruction, ...]) -> int:
    writes = 0
    for instruction in instructions:
        writes |= may_define(instruction)
    return writes


def _read_anywhere(function: Function) -> int:
    reads = 0
    for instruction in function.instructions:
        if instruction.decoded is not None:
            reads |= instruction.decoded.reads
    return reads
