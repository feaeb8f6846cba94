"""Which registers may have a value: given by the launch, or written on some path from the entry."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.analysis.initial_state import initial_registers
from asmevo_gate.isa.registers import LINE_LENGTH
from asmevo_gate.program.model import Function, Instruction


def defined_at_block_starts(function: Function) -> list[int]:
    """The bit set of registers that may have a value at the start of each block (union over paths).

    For a device function everything that it reads counts as defined: its arguments are not declared anywhere. A call
    may give any register a value, that of a subroutine of the function those that the subroutine writes.
    """
    blocks = function.blocks
    if not blocks:
        return []
    written = _may_be_written(function)
    defined = [0] * len(blocks)
    defined[0] = initial_registers(function) if function.is_kernel else _read_anywhere(function)
    pending = [0]
    seen = {0}
    while pending:
        number = pending.pop()
        out = defined[number] | written[number]
        for successor in (*blocks[number].successors, *blocks[number].entries):
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


def reads_of_nothing(function: Function, registers: int) -> Iterator[tuple[Instruction, int]]:
    """Each understood instruction of a reachable block that reads one of the registers where it has a value on no path,
    with the registers that may have one before it."""
    defined_at = defined_at_block_starts(function)
    for block, uses, defined in zip(function.blocks, function.uses_of_blocks, defined_at, strict=True):
        if (block.number and not defined) or not uses.reads & registers & ~defined:
            continue
        for instruction in function.instructions[block.first : block.end]:
            decoded = instruction.decoded
            if decoded is not None and decoded.reads & registers & ~defined:
                yield instruction, defined
            defined |= may_define(instruction)


def _may_be_written(function: Function) -> list[int]:
    """The registers that may have a value behind each block because of an instruction in it."""
    written = [writes for _, writes in function.uses_of_blocks]
    if function.understood and not function.has(lambda decoded: decoded.is_call or decoded.has_indexed):
        return written
    for block in function.blocks:
        called = function.called(block)
        end = block.end if called is None else block.end - 1
        if any(may_define(one) == EVERYTHING for one in function.instructions[block.first : end]):
            written[block.number] = EVERYTHING
        elif called is not None:
            written[block.number] |= called.writes
    return written


def _read_anywhere(function: Function) -> int:
    reads = 0
    for _, decoded, _ in function.spellings:
        if decoded is not None:
            reads |= decoded.reads
    return reads
