"""Where a kernel first uses a register from some number on."""

from __future__ import annotations

from asmevo_gate.isa.registers import Bank, indices
from asmevo_gate.program.model import Function, Instruction


def first_use_from(kernel: Function, bank: Bank, limit: int) -> tuple[Instruction, int] | None:
    """The first instruction that names a register of the bank with number ``limit`` or higher, and that number."""
    if limit >= bank.count:
        return None
    beyond = bank.mask & ~((1 << (bank.start + limit)) - 1)
    if not (kernel.uses.reads | kernel.uses.writes) & beyond:
        return None
    for _, decoded, places in kernel.spellings:
        touched = (decoded.reads | decoded.writes) & beyond if decoded is not None else 0
        if touched:
            return kernel.instructions[places[0]], next(indices(touched)) - bank.start
    return None
