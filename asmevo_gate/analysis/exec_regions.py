"""Regions in which lanes are switched off: ``s_and_saveexec`` and the skip branch behind it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import EXEC
from asmevo_gate.program.model import Block, Function, Instruction


class ExecRegion(msgspec.Struct, frozen=True):
    """A narrowing save of EXEC in the block that ends with the branch around the region.

    ``saved`` are the registers that hold the old mask; ``inside`` is the block behind the branch, ``join`` the one that
    it jumps to when no lane is left.
    """

    save: Instruction
    branch: Instruction
    saved: int
    inside: Block
    join: Block


def exec_regions(function: Function) -> Iterator[ExecRegion]:
    """Every region of the shape ``s_and_saveexec; ...; s_cbranch_execz JOIN``."""
    for block in function.blocks:
        branch = function.instructions[block.end - 1]
        if branch.decoded is None or branch.decoded.base != "s_cbranch_execz" or len(block.successors) != 2:
            continue
        save = _last_exec_write(function, block)
        if save is None or save.decoded is None or not _saves(save.decoded):
            continue
        target = function.labels.get(branch.decoded.operands[-1].text)
        inside = next((function.blocks[n] for n in block.successors if function.blocks[n].first == block.end), None)
        join = next((function.blocks[n] for n in block.successors if function.blocks[n].first == target), None)
        if inside is not None and join is not None and inside != join:
            yield ExecRegion(save, branch, save.decoded.operands[0].mask, inside, join)


def _last_exec_write(function: Function, block: Block) -> Instruction | None:
    for instruction in reversed(function.instructions[block.first : block.end - 1]):
        if instruction.decoded is None:
            return None
        if instruction.decoded.writes & EXEC:
            return instruction
    return None


def _saves(decoded: Decoded) -> bool:
    return "saveexec" in decoded.base and exec_change(decoded) is ExecChange.NARROWS


def lane_saves(function: Function) -> Iterator[Instruction]:
    """Every instruction that saves EXEC and narrows it."""
    for instruction, _ in function.where(_saves, among=Op.SALU):
        yield instruction


def straight_on(function: Function, after: Instruction) -> Iterator[Instruction]:
    """The instructions that follow when no branch is taken, before anything gives lanes back to EXEC."""
    for instruction in function.instructions[after.index + 1 :]:
        decoded = instruction.decoded
        if decoded is None or decoded.is_call or _gives_back(decoded):
            return
        yield instruction
        if decoded.of(Op.TERMINATOR):
            return


def while_masked(function: Function, start: Block) -> Iterator[Instruction]:
    """The instructions that can be executed from the start of a block on before anything gives lanes back to EXEC.

    Ends at calls and at instructions that are not understood.
    """
    pending, seen = [start], {start.number}
    while pending:
        block = pending.pop()
        for instruction in function.instructions[block.first : block.end]:
            decoded = instruction.decoded
            if decoded is None or decoded.is_call or _gives_back(decoded):
                break
            yield instruction
        else:
            for number in block.successors:
                if number not in seen:
                    seen.add(number)
                    pending.append(function.blocks[number])


def _gives_back(decoded: Decoded) -> bool:
    return exec_change(decoded) in (ExecChange.WIDENS, ExecChange.UNKNOWN)


def writes_memory(decoded: Decoded | None) -> bool:
    """A vector instruction that leaves something behind: a store or an atomic."""
    return decoded is not None and decoded.of(VMEM | Op.DS) and decoded.of(Op.STORE | Op.ATOMIC)
