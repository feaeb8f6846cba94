"""What a report draws of one kernel: live registers by line, blocks and edges, the time line of a block."""

from __future__ import annotations

import msgspec

from asmevo_gate.analysis.occupancy import most_vgprs
from asmevo_gate.cost.block import BlockCost
from asmevo_gate.cost.explain import TimelineEntry
from asmevo_gate.cost.interval import Cycles, low_of, scaled
from asmevo_gate.cost.kernel import BlockInKernel, KernelCost
from asmevo_gate.gate.block_match import base_blocks
from asmevo_gate.isa.registers import AGPRS, VGPRS
from asmevo_gate.isa.resource_limits import resource_limits
from asmevo_gate.rules.facts import KernelFacts

MAX_TIMELINE = 160
"""Instructions of a block that a time line shows."""


class LineLoad(msgspec.Struct, frozen=True):
    """The most registers that are live before or after the instructions of one line."""

    line: int
    vgprs: int
    agprs: int


class FlowBlock(msgspec.Struct, frozen=True):
    """A basic block in the control-flow graph; ``cycles`` are clk a wave, ``None`` where they are not known."""

    number: int
    label: str
    line: int
    end_line: int
    loop_depth: int
    instructions: int
    successors: tuple[int, ...]
    cycles: Cycles | None
    limited_by: str


class BlockTimeline(msgspec.Struct, frozen=True):
    """Issue and stalls of one wave through a block: of head, and of the same block at base where there is one."""

    label: str
    line: int
    head: tuple[TimelineEntry, ...]
    base: tuple[TimelineEntry, ...] = ()


class KernelPicture(msgspec.Struct, frozen=True):
    """The pictures of one kernel. ``steps`` are (most VGPRs, waves per SIMD) for each occupancy of the GPU."""

    name: str
    file: str
    gpu: str
    loads: tuple[LineLoad, ...]
    base_loads: tuple[LineLoad, ...]
    steps: tuple[tuple[int, int], ...]
    blocks: tuple[FlowBlock, ...]
    timeline: BlockTimeline | None


def kernel_picture(facts: KernelFacts) -> KernelPicture:
    """The pictures of a kernel at head, with those of the same kernel at base beside them."""
    kernel = facts.kernel
    return KernelPicture(
        name=kernel.name,
        file=facts.program.path,
        gpu=kernel.target.name,
        loads=_loads(facts),
        base_loads=_loads(facts.base) if facts.base is not None else (),
        steps=_steps(facts),
        blocks=_blocks(facts),
        timeline=_timeline(facts),
    )


def _loads(facts: KernelFacts) -> tuple[LineLoad, ...]:
    found: dict[int, tuple[int, int]] = {}
    live = facts.liveness
    for instruction, before, after in zip(facts.kernel.instructions, live.before, live.after, strict=True):
        line = instruction.statement.outer_place.line
        vgprs, agprs = found.get(line, (0, 0))
        vgprs = max(vgprs, (before & VGPRS).bit_count(), (after & VGPRS).bit_count())
        agprs = max(agprs, (before & AGPRS).bit_count(), (after & AGPRS).bit_count())
        found[line] = (vgprs, agprs)
    return tuple(LineLoad(line, *counts) for line, counts in sorted(found.items()))


def _steps(facts: KernelFacts) -> tuple[tuple[int, int], ...]:
    limits = resource_limits(facts.kernel.target)
    if facts.kernel.wave_size not in limits.vgpr:
        return ()
    steps = {
        most_vgprs(limits, facts.kernel.wave_size, waves): waves for waves in range(1, limits.max_waves_per_eu + 1)
    }
    return tuple(sorted(steps.items()))


def _blocks(facts: KernelFacts) -> tuple[FlowBlock, ...]:
    successors = {block.number: block.successors for block in facts.kernel.blocks}
    return tuple(
        FlowBlock(
            number=block.number,
            label=block.label,
            line=block.line,
            end_line=block.end_line,
            loop_depth=block.loop_depth,
            instructions=block.cost.instructions,
            successors=successors[block.number],
            cycles=None if block.cost.not_modelled else scaled(block.cost.cycles, 1 / max(block.cost.waves, 1)),
            limited_by=block.cost.limited_by,
        )
        for block in facts.cost.blocks
    )


def _timeline(facts: KernelFacts) -> BlockTimeline | None:
    """The block where the kernel spends most of its time by the model: in the hot loop, else the longest."""
    hot = _hot_block(facts.cost)
    if hot is None:
        return None
    base = base_blocks(facts).get(hot.number)
    return BlockTimeline(hot.label, hot.line, _entries(hot.cost), _entries(base.cost) if base is not None else ())


def _hot_block(cost: KernelCost) -> BlockInKernel | None:
    numbers = set(cost.hot_loop.blocks) if cost.hot_loop is not None else set(range(len(cost.blocks)))
    known = [block for block in cost.blocks if block.number in numbers and not block.cost.not_modelled]
    return max(known, key=lambda block: low_of(block.cost.cycles), default=None)


def _entries(cost: BlockCost) -> tuple[TimelineEntry, ...]:
    return cost.timeline[:MAX_TIMELINE]
