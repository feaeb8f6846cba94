"""Blocks of a kernel at head with their counterparts at base: by label, then by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from asmevo_gate.cost.interval import Cycles, scaled
from asmevo_gate.cost.kernel import BlockInKernel
from asmevo_gate.gate.result import BlockReport
from asmevo_gate.rules.facts import KernelFacts


def block_reports(facts: KernelFacts) -> Iterator[BlockReport]:
    """The blocks of a kernel with cycles and IPC at head, and at base where the block has a counterpart there."""
    before = _Base(facts.base) if facts.base is not None else None
    for block in facts.cost.blocks:
        base = before.counterpart(block, facts) if before is not None else None
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


class _Base:
    """The blocks of the base version by label (where it is unique) and by their instructions."""

    def __init__(self, facts: KernelFacts) -> None:
        labels = Counter(block.label for block in facts.cost.blocks if block.label)
        self._by_label = {block.label: block for block in facts.cost.blocks if labels[block.label] == 1}
        self._by_content: dict[tuple[str, ...], BlockInKernel | None] = {}
        for block in facts.cost.blocks:
            content = _content(block, facts)
            self._by_content[content] = None if content in self._by_content else block

    def counterpart(self, block: BlockInKernel, facts: KernelFacts) -> BlockInKernel | None:
        """The same block at base; ``None`` when nothing says which one it is."""
        if block.label in self._by_label:
            return self._by_label[block.label]
        return self._by_content.get(_content(block, facts))


def _content(block: BlockInKernel, facts: KernelFacts) -> tuple[str, ...]:
    bounds = facts.kernel.blocks[block.number]
    return tuple(one.statement.text for one in facts.kernel.instructions[bounds.first : bounds.end])


def _cycles(block: BlockInKernel) -> Cycles | None:
    """Clk a wave; ``None`` where an instruction is not modelled."""
    return None if block.cost.not_modelled else scaled(block.cost.cycles, 1 / block.cost.waves)


def _ipc(block: BlockInKernel) -> Cycles | None:
    return None if block.cost.not_modelled else block.cost.ipc
