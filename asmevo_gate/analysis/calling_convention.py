"""What a device function must leave as it found it, and where it does not.

AMDGPUUsage, "Non-Kernel Functions"; LLVM AMDGPUCallingConv.td (CSR_AMDGPU_VGPRs, CSR_AMDGPU_SGPRs).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.analysis.vgpr_msb import MNEMONIC as RENAMES
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.registers import SGPR, VECTOR, VGPR, bits
from asmevo_gate.isa.resource_limits import is_unified
from asmevo_gate.program.model import RETURN, Block, Function, Instruction
from asmevo_gate.program.reach import leading_to


def _preserved() -> int:
    found = bits(SGPR.start + 30, 10)
    for first in (48, 64, 80, 96):
        found |= bits(SGPR.start + first, 8)
    for first in range(40, 256, 16):
        found |= bits(VGPR.start + first, 8)
    return found


PRESERVED = _preserved()
"""s30 to s39 (s30 and s31 hold the return address), s48 to s55 and so on, v40 to v47, v56 to v63 and so on.

LLVM before 20 also preserved the SGPRs between; only what every version preserves counts here.
"""


class Clobber(msgspec.Struct, frozen=True):
    """An instruction after which preserved registers are lost for the caller."""

    instruction: Instruction
    registers: int


def clobbers(function: Function) -> Iterator[Clobber]:
    """Writes of preserved registers that nothing on any path can have saved before, and after which the function
    returns. A register that is read before it is written counts as saved; VGPRs that s_set_vgpr_msb renames are not
    followed."""
    returning = leading_to(function.blocks, (block.number for block in function.blocks if block.leaves == RETURN))
    if not returning:
        return
    lost = VECTOR if any(one.statement.name == RENAMES for one in function.instructions) else 0
    copies_agprs = bool(function.target.facts["agpr"]) and not is_unified(function.target)
    for block, saved in zip(function.blocks, _read_before(function), strict=True):
        for instruction in function.instructions[block.first : block.end]:
            decoded = instruction.decoded
            if decoded is None:
                saved = PRESERVED
                continue
            saved |= decoded.reads & PRESERVED
            fresh = decoded.writes & PRESERVED & ~saved & ~lost
            if copies_agprs and decoded.of(Op.ACCVGPR):
                # LLVM takes one VGPR for copies between AGPRs and does not save it.
                continue
            if fresh and block.number in returning:
                lost |= fresh
                yield Clobber(instruction, fresh)


def _read_before(function: Function) -> list[int]:
    """Preserved registers that some path may have read before each block: a union that grows, so this ends."""
    found = [0] * len(function.blocks)
    reads = [_reads(function, block) for block in function.blocks]
    pending = list(range(len(function.blocks)))
    while pending:
        number = pending.pop()
        out = found[number] | reads[number]
        for successor in function.blocks[number].successors:
            if out & ~found[successor]:
                found[successor] |= out
                pending.append(successor)
    return found


def _reads(function: Function, block: Block) -> int:
    found = 0
    for instruction in function.instructions[block.first : block.end]:
        decoded = instruction.decoded
        if decoded is None or any(operand.indexed for operand in decoded.operands):
            return PRESERVED
        found |= decoded.reads
    return found & PRESERVED


def returns_with_lanes_off(function: Function) -> Iterator[tuple[Instruction, Instruction]]:
    """Returns that some path reaches with EXEC narrowed and not written since: the return, and what narrowed it."""
    narrowed: list[frozenset[int]] = [frozenset()] * len(function.blocks)
    pending = list(range(len(function.blocks)))
    while pending:
        block = function.blocks[pending.pop()]
        state = narrowed[block.number]
        for instruction in function.instructions[block.first : block.end]:
            state = _after(instruction, state)
        for successor in block.successors:
            if not state <= narrowed[successor]:
                narrowed[successor] |= state
                pending.append(successor)
    for block in function.blocks:
        if block.leaves != RETURN:
            continue
        state = narrowed[block.number]
        for instruction in function.instructions[block.first : block.end]:
            state = _after(instruction, state)
        if state:
            yield function.instructions[block.end - 1], function.instructions[min(state)]


def _after(instruction: Instruction, state: frozenset[int]) -> frozenset[int]:
    decoded = instruction.decoded
    if decoded is None:
        return frozenset()
    change = exec_change(decoded)
    if change is ExecChange.NARROWS:
        return state | {instruction.index}
    return state if change is ExecChange.NONE else frozenset()
