"""Compiled kernels read no scalar register at entry that the ABI leaves undefined."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.isa.registers import SGPRS, TTMP, indices, set_name
from asmevo_gate.program.model import Function
from tests.oracles.compiled_kernels import COMPILER, compiled_kernels, compiler
from tests.oracles.resource_comments import program_of

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"{COMPILER} is not installed"),
]


def entry_reads(kernel: Function) -> int:
    """Registers that the first block reads before it writes them."""
    written = read = 0
    block = kernel.blocks[0]
    for instruction in kernel.instructions[block.first : block.end]:
        if instruction.decoded is None:
            break
        read |= instruction.decoded.reads & ~instruction.decoded.keeps & ~written
        written |= instruction.decoded.writes
    return read


def test_scalar_registers_read_at_entry_are_initial_registers() -> None:
    named = 0
    for output in compiled_kernels(150):
        for kernel in program_of(output).kernels:
            state = initial_state(kernel)
            assert state.complete
            reads = entry_reads(kernel)
            undefined = reads & (SGPRS | TTMP.mask) & ~state.known
            assert not undefined, f"{output.gpu} {output.name} {kernel.name}: {set_name(undefined)}"
            named += sum(index in state.names for index in indices(reads))
    assert named > 300
