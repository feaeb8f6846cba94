"""Objects of a program: instructions, basic blocks, kernels. Built by :mod:`asmevo_gate.program.builder`."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.descriptor import Descriptor
from asmevo_gate.program.metadata import KernelMetadata, Metadata
from asmevo_gate.source.statement import Source, Statement


class Instruction(msgspec.Struct, frozen=True, gc=False):
    """One instruction of a function: its position, its statement and its meaning.

    ``decoded`` is ``None`` exactly when ``unknown`` says why it has no meaning on the target.
    """

    index: int
    statement: Statement
    decoded: Decoded | None
    unknown: NotDecoded | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: instructions ``[first, end)`` of its function, and the numbers of the blocks around it.

    ``label`` is the first label at its start, or ``""``. ``leaves`` is set when control may go somewhere that is not
    known (an unresolved s_setpc/s_swappc, a branch to a label outside the function): the reason in words.
    ``falls_off`` is set when control runs past the last instruction of the function.
    """

    number: int
    label: str
    first: int
    end: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    leaves: str = ""
    falls_off: bool = False


@dataclass(frozen=True)
class Function:
    """A run of instructions that starts at a symbol: a kernel (with a descriptor) or a device function.

    ``labels`` maps each label to the index of the instruction that follows it (``len(instructions)`` at the end).
    """

    name: str
    target: Target
    wave_size: int
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    blocks: tuple[Block, ...]
    entry: Statement | None
    descriptor: Descriptor | None = None
    metadata: KernelMetadata | None = None

    @property
    def is_kernel(self) -> bool:
        """True when a kernel descriptor or metadata names this function."""
        return self.descriptor is not None or self.metadata is not None


@dataclass(frozen=True)
class Program:
    """One file analysed for one target.

    ``functions`` holds kernels and device functions in file order. ``metadata`` is the whole ``.amdgpu_metadata``
    document or ``None``. ``not_modelled`` lists what could not be understood at file level, as (statement, reason).
    """

    path: str
    source: Source
    target: Target
    functions: tuple[Function, ...]
    metadata: Metadata | None
    not_modelled: tuple[tuple[Statement, str], ...] = field(default=())

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that have a descriptor or metadata."""
        return tuple(function for function in self.functions if function.is_kernel)
