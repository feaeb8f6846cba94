"""Objects of a program: instructions, basic blocks, kernels. Built by :mod:`asmevo_gate.program.builder`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple, TypeVar

import msgspec

from asmevo_gate.isa.instruction import Decoded, NotDecoded, Operand
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.descriptor import Descriptor
from asmevo_gate.program.metadata import KernelMetadata, Metadata
from asmevo_gate.source.statement import Source, Statement

T = TypeVar("T")
_LEAST_SIZE = 4
"""Bytes of the shortest instructions, and what one is taken for that is not understood."""


class Instruction(msgspec.Struct, frozen=True, gc=False):
    """One instruction of a function: its position, its statement and its meaning.

    ``decoded`` is ``None`` exactly when ``unknown`` says why it has no meaning on the target.
    """

    index: int
    statement: Statement
    decoded: Decoded | None
    unknown: NotDecoded | None = None


class Spelling(NamedTuple):
    """One distinct instruction text of a function: its meaning, as :attr:`Instruction.decoded`, and the indices of the
    instructions that are written so."""

    text: str
    decoded: Decoded | None
    indices: list[int]


class Call(msgspec.Struct, frozen=True):
    """A call. ``targets`` are the symbols that it may go to, none where they are not known.

    ``entries`` are blocks of the same function: where the *subroutines* start that it goes to, code that is looked into
    together with the function. ``reason`` says why it goes to code of the function and that is not looked into.
    """

    targets: tuple[str, ...]
    entries: tuple[int, ...] = ()
    reason: str = ""


RETURN = "return"
"""``Block.leaves`` of a block that returns to the caller of the function."""
COMES_BACK = "back from a subroutine"
"""``Block.leaves`` of a block that returns from a subroutine of the function."""


def spellings_of(instructions: Iterable[Instruction]) -> tuple[Spelling, ...]:
    """The distinct texts of instructions, in the order in which they appear first; a text that has two meanings (a call
    that is followed here and not there) is there twice."""
    found: dict[tuple[str, int], Spelling] = {}
    for instruction in instructions:
        text, decoded = instruction.statement.text, instruction.decoded
        known = found.get((text, id(decoded)))
        if known is None:
            found[text, id(decoded)] = Spelling(text, decoded, [instruction.index])
        else:
            known.indices.append(instruction.index)
    return tuple(found.values())


class Block(msgspec.Struct, frozen=True):
    """A basic block: instructions ``[first, end)`` of its function, and the numbers of the blocks around it.

    ``label`` is the first label at its start, or ``""``. ``leaves`` is set when control leaves for a place that is no
    block: :data:`RETURN`, :data:`COMES_BACK`, else it is not known where it goes (an unresolved s_setpc, a branch to a
    label outside the function), and this is the reason in words. ``falls_off`` is set when control runs past the last
    instruction of the function. ``call`` is the call at the end; its block goes on to the one behind it.
    """

    number: int
    label: str
    first: int
    end: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    leaves: str = ""
    falls_off: bool = False
    call: Call | None = None

    @property
    def entries(self) -> tuple[int, ...]:
        """The first blocks of the subroutines that the call at the end goes to."""
        return self.call.entries if self.call is not None else ()

    @property
    def lost(self) -> str:
        """Why it is not known where control goes, ``""`` where it is."""
        return "" if self.leaves in (RETURN, COMES_BACK) else self.leaves


class Uses(NamedTuple):
    """The registers that a run of instructions reads and writes, as bit sets."""

    reads: int
    writes: int


class Function(msgspec.Struct, frozen=True, dict=True):
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

    @cached_property
    def spellings(self) -> tuple[Spelling, ...]:
        """Every distinct instruction text, in the order in which they appear first. Kernels repeat themselves: what
        depends on the text alone is found by asking each text once."""
        return spellings_of(self.instructions)

    @cached_property
    def _by_classes(self) -> dict[int, list[Spelling]]:
        """The understood texts by their class bits, of which a kernel has few."""
        found: dict[int, list[Spelling]] = {}
        for one in self.spellings:
            if one.decoded is not None:
                found.setdefault(one.decoded.classes, []).append(one)
        return found

    def _among(self, classes: int) -> Iterator[tuple[Decoded, list[int]]]:
        """The understood meanings in at least one of the classes, or all of them for 0, with their places."""
        groups = [one for bits, one in self._by_classes.items() if bits & classes] if classes else [self.spellings]
        for spellings in groups:
            for _, decoded, indices in spellings:
                if decoded is not None:
                    yield decoded, indices

    def judged(self, judge: Callable[[Decoded], T | None], among: int = 0) -> list[tuple[Instruction, T]]:
        """The understood instructions for whose meaning ``judge`` gives something that is true, with what it gives, in
        program order. Only those in at least one of the classes ``among`` are judged, where it is given."""
        found: list[tuple[int, T]] = []
        for decoded, indices in self._among(among):
            if judgement := judge(decoded):
                found += [(index, judgement) for index in indices]
        found.sort(key=itemgetter(0))
        return [(self.instructions[index], judgement) for index, judgement in found]

    def where(self, holds: Callable[[Decoded], object], among: int = 0) -> list[tuple[Instruction, Decoded]]:
        """The understood instructions for whose meaning ``holds`` is true, in program order; ``among`` as for
        :meth:`judged`."""
        return self.judged(lambda decoded: decoded if holds(decoded) else None, among)

    def of(self, classes: int) -> list[tuple[Instruction, Decoded]]:
        """The understood instructions in at least one of the classes, in program order."""
        return self.judged(lambda decoded: decoded, classes)

    def has(self, holds: Callable[[Decoded], object], among: int = 0) -> bool:
        """True when ``holds`` is true for the meaning of an understood instruction; ``among`` as for :meth:`judged`."""
        return any(holds(decoded) for decoded, _ in self._among(among))

    @cached_property
    def mnemonics(self) -> frozenset[str]:
        """The base mnemonics of the understood instructions."""
        return frozenset(one.decoded.base for one in self.spellings if one.decoded is not None)

    def named(self, mnemonics: frozenset[str]) -> list[tuple[Instruction, Decoded]]:
        """The understood instructions with one of the base mnemonics, in program order."""
        if self.mnemonics.isdisjoint(mnemonics):
            return []
        return self.where(lambda decoded: decoded.base in mnemonics)

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the understood instructions, most of them once: what must hold for each operand alone is
        asked of few."""
        understood = (one.decoded for one in self.spellings if one.decoded is not None)
        return tuple({id(operand): operand for decoded in understood for operand in decoded.operands}.values())

    @cached_property
    def uses(self) -> Uses:
        """What the understood instructions read and write together."""
        reads = writes = 0
        for decoded, _ in self._among(0):
            reads |= decoded.reads
            writes |= decoded.writes
        return Uses(reads, writes)

    @cached_property
    def not_understood(self) -> tuple[Instruction, ...]:
        """The instructions that have no meaning on the target, in program order."""
        indices = sorted(index for one in self.spellings if one.decoded is None for index in one.indices)
        return tuple(self.instructions[index] for index in indices)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The least byte offset that the code of each instruction can begin at, and at the end that of what follows."""
        sizes = [_LEAST_SIZE] * len(self.instructions)
        for _, decoded, indices in self.spellings:
            if decoded is not None and decoded.size != _LEAST_SIZE:
                for index in indices:
                    sizes[index] = decoded.size
        return (0, *accumulate(sizes))

    @cached_property
    def _block_starts(self) -> list[int]:
        return [block.first for block in self.blocks]

    def block_of(self, index: int) -> Block:
        """The block that holds an instruction."""
        return self.blocks[bisect_right(self._block_starts, index) - 1]

    @cached_property
    def subroutines(self) -> dict[int, frozenset[int]]:
        """The blocks of each subroutine, those that it calls among them, by the block that it starts with."""
        found: dict[int, frozenset[int]] = {}
        for entry in dict.fromkeys(entry for block in self.blocks for entry in block.entries):
            seen, pending = {entry}, [entry]
            while pending:
                block = self.blocks[pending.pop()]
                new = {*block.successors, *block.entries} - seen
                seen |= new
                pending += new
            found[entry] = frozenset(seen)
        return found

    @cached_property
    def in_subroutines(self) -> frozenset[int]:
        """The blocks of all subroutines."""
        return frozenset().union(*self.subroutines.values())

    @cached_property
    def behind_calls(self) -> dict[int, tuple[int, ...]]:
        """For each block that comes back from a subroutine the blocks behind the calls of that."""
        found: dict[int, dict[int, None]] = {}
        for block in self.blocks:
            for entry in block.entries:
                for number in sorted(self.subroutines[entry]):
                    if self.blocks[number].leaves == COMES_BACK:
                        found.setdefault(number, {}).update(dict.fromkeys(block.successors))
        return {number: tuple(behind) for number, behind in found.items()}

    def called(self, block: Block) -> Uses | None:
        """What the subroutines that the end of a block calls may read and write, ``None`` where it calls none."""
        if not block.entries:
            return None
        reads = writes = 0
        for number in frozenset().union(*(self.subroutines[entry] for entry in block.entries)):
            uses = self.uses_of_blocks[number]
            reads |= uses.reads
            writes |= uses.writes
        return Uses(reads, writes)

    @property
    def calls_outside(self) -> bool:
        """True when a call leads, or may lead, to code that is not looked into together with the function."""
        return any(block.call is not None and not block.entries for block in self.blocks)

    @cached_property
    def uses_of_blocks(self) -> tuple[Uses, ...]:
        """What the understood instructions of each block read and write."""
        found = []
        for block in self.blocks:
            reads = writes = 0
            for instruction in self.instructions[block.first : block.end]:
                decoded = instruction.decoded
                if decoded is not None:
                    reads |= decoded.reads
                    writes |= decoded.writes
            found.append(Uses(reads, writes))
        return tuple(found)

    @property
    def understood(self) -> bool:
        """True when every instruction has a meaning on the target."""
        return not self.not_understood


class Program(msgspec.Struct, frozen=True):
    """One file analysed for one target.

    ``functions`` holds kernels and device functions in file order. ``metadata`` is the whole ``.amdgpu_metadata``
    document or ``None``. ``not_modelled`` lists what could not be understood at file level, as (statement, reason).
    """

    path: str
    source: Source
    target: Target
    functions: tuple[Function, ...]
    metadata: Metadata | None
    not_modelled: tuple[tuple[Statement, str], ...] = msgspec.field(default=())

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that have a descriptor or metadata."""
        return tuple(function for function in self.functions if function.is_kernel)
