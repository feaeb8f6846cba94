"""Where VGPR numbers are not the ones written: gfx1250's ``s_set_vgpr_msb`` adds high bits to them."""

from __future__ import annotations

from asmevo_gate.program.model import Block, Function

MNEMONIC = "s_set_vgpr_msb"
_FIELDS = 0xFF
"""Two high bits each for src0, src1, src2 and the destination (LLVM 22, AMDGPULowerVGPREncoding)."""


def renamed_instructions(function: Function) -> frozenset[int]:
    """Instructions at which the high bits may not all be 0, so that a VGPR operand may name another
    register."""
    if not any(function.instructions[one.indices[0]].statement.name == MNEMONIC for one in function.spellings):
        return frozenset()
    blocks = function.blocks
    may_rename: list[bool | None] = [None] * len(blocks)
    may_rename[0] = not function.is_kernel
    work = [0]
    found: set[int] = set()
    while work:
        number = work.pop()
        renames = bool(may_rename[number])
        block = blocks[number]
        for index in range(block.first, block.end):
            instruction = function.instructions[index]
            if instruction.statement.name == MNEMONIC:
                value = instruction.decoded.operands[0].value if instruction.decoded else None
                renames = not isinstance(value, int) or bool(value & _FIELDS)
            elif renames:
                found.add(index)
        if block.entries:  # VGPRs may be renamed when a subroutine comes back that touches their high bits
            called = frozenset().union(*(function.subroutines[entry] for entry in block.entries))
            renames = renames or any(_renames(function, blocks[one]) for one in called)
        for successor in (*block.successors, *block.entries):
            if may_rename[successor] is None or (renames and not may_rename[successor]):
                may_rename[successor] = bool(may_rename[successor]) or renames
                work.append(successor)
    return frozenset(found)


def _renames(function: Function, block: Block) -> bool:
    return any(one.statement.name == MNEMONIC for one in function.instructions[block.first : block.end])
