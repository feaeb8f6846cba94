"""Blocks of a kernel at head with their counterparts at base: by label, then by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from asmevo_gate.cost.interval import Cycles, scaled
from asmevo_gate.cost.kernel import BlockInKernel
from asmevo_gate.gate.result import BlockReport
from asmevo_gate.rules.facts import KernelFacts


def block_reports(facts: KernelFacts) -> Iterator[BlockReport]:
    """The blocks of a kernel with cycles and IPC at head, and at base where the block has a counterpart there."""
    counterparts = base_blocks(facts)
    for block in facts.cost.blocks:
        base = counterparts.get(block.number)
        yield BlockReport(
            label=block.label,
            line=block.line,
            end_line=block.end_line,
            instructions=block.cost.instructions,
            loop_depth=block.loop_depth,
            cycles=_cycles(block),
            ipc=_ipc(block),
            limited_by=block.cost.limited_by,
            base_cycles=_cycles(base) if base is not None else None,
            base_ipc=_ipc(base) if base is not None else None,
        )


def base_blocks(facts: KernelFacts) -> dict[int, BlockInKernel]:
    """The block at base of each block at head (by its number), where something says which one it is.

    Three things say it, the strongest first; each is taken only where it is unique on both sides, and no block at base
    is taken twice: the label, the instructions, the place behind the nearest label above.
    """
    if facts.base is None:
        return {}
    found: dict[int, BlockInKernel] = {}
    taken: set[int] = set()
    for keys in (_labels, _contents, _places):
        ours = _unique(facts, keys)
        for key, base in _unique(facts.base, keys).items():
            block = ours.get(key)
            if block is not None and block.number not in found and base.number not in taken:
                found[block.number] = base
                taken.add(base.number)
    return found


_Keys = Callable[[KernelFacts], Iterator[object]]


def _unique(facts: KernelFacts, keys: _Keys) -> dict[object, BlockInKernel]:
    """Blocks by what the keys say of them, without those of which they say the same, or nothing."""
    said = list(keys(facts))
    times = Counter(said)
    return {key: block for key, block in zip(said, facts.cost.blocks, strict=True) if key and times[key] == 1}


def _labels(facts: KernelFacts) -> Iterator[object]:
    return (block.label for block in facts.cost.blocks)


def _contents(facts: KernelFacts) -> Iterator[object]:
    instructions = facts.kernel.instructions
    for block in facts.cost.blocks:
        bounds = facts.kernel.blocks[block.number]
        yield tuple(one.statement.text for one in instructions[bounds.first : bounds.end])


def _places(facts: KernelFacts) -> Iterator[object]:
    """The nearest label above a block without one, and how many blocks further down it stands."""
    label, below = "", 0
    for block in facts.cost.blocks:
        label, below = (block.label, 0) if block.label else (label, below + 1)
        yield None if block.label else (label, below)


def _cycles(block: BlockInKernel) -> Cycles | None:
    """Clk a wave; ``None`` where an instruction is not modelled."""
    return None if block.cost.not_modelled else scaled(block.cost.cycles, 1 / block.cost.waves)


def _ipc(block: BlockInKernel) -> Cycles | None:
    return None if block.cost.not_modelled else block.cost.ipc
