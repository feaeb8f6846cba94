"""A cost as plain data (for JSON) and as lines (for a terminal)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from asmevo_gate.cost.block import BlockCost
from asmevo_gate.cost.interval import Cycles, Interval, in_words
from asmevo_gate.cost.kernel import BlockInKernel, KernelCost, LoopCost

SCHEMA = "asmevo-gate/cost/1"


def cost_document(kernels: Iterable[KernelCost], *, timeline: bool = False) -> dict[str, Any]:
    """All kernels as JSON-ready data; an interval becomes ``{"low", "high"}``.

    ``timeline`` adds, for every block, when each of its instructions starts.
    """
    return {"schema": SCHEMA, "kernels": [kernel_document(kernel, timeline=timeline) for kernel in kernels]}


def kernel_document(cost: KernelCost, *, timeline: bool = False) -> dict[str, Any]:
    """One kernel as JSON-ready data."""
    return {
        "name": cost.name,
        "gpu": cost.target,
        "wave_size": cost.wave_size,
        "occupancy_waves_per_simd": cost.waves,
        "cycles": number_or_ends(cost.cycles),
        "ipc": number_or_ends(cost.ipc),
        "instructions": cost.instructions,
        "limited_by": cost.limited_by,
        "loops": [_loop_document(loop) for loop in cost.loops],
        "blocks": [block_document(block, timeline=timeline) for block in cost.blocks],
        "not_modelled": list(cost.not_modelled),
        "assumptions": list(cost.assumptions),
        "unreached": list(cost.unreached),
    }


def block_document(block: BlockInKernel, *, timeline: bool = False) -> dict[str, Any]:
    """One basic block as JSON-ready data."""
    result: dict[str, Any] = {
        "label": block.label,
        "line": block.line,
        "end_line": block.end_line,
        "instructions": block.cost.instructions,
        "loop_depth": block.loop_depth,
        "cycles": number_or_ends(block.cost.cycles),
        "ipc": number_or_ends(block.cost.ipc),
        "limited_by": block.cost.limited_by,
        "pipe_use": {name: round(share, 4) for name, share in block.cost.pipe_use.items()},
    }
    if timeline:
        result["timeline"] = _timeline_document(block.cost)
    return result


def number_or_ends(value: Cycles) -> float | dict[str, float]:
    """A number (rounded to 4 digits behind the point), or ``{"low", "high"}``."""
    if isinstance(value, Interval):
        return {"low": round(value.low, 4), "high": round(value.high, 4)}
    return round(value, 4)


def cost_lines(cost: KernelCost) -> Iterator[str]:
    """One kernel for a terminal: the whole, then its loops, then its blocks."""
    waves = f"{cost.waves} waves a SIMD; clk are those of all of them" if cost.waves != 1 else "1 wave a SIMD"
    yield f"{cost.name} ({cost.target}, wave{cost.wave_size}, {waves})"
    yield (
        f"  longest way: {in_words(cost.cycles)} clk, {cost.instructions} instructions, "
        f"IPC {_ipc(cost.ipc)}; {cost.limited_by}"
    )
    for loop in cost.loops:
        yield "  " * loop.depth + _loop_line(loop)
    for block in cost.blocks:
        name = block.label or f"block {block.number}"
        yield (
            f"  {name} (lines {block.line}-{block.end_line}): {in_words(block.cost.cycles)} clk, "
            f"{block.cost.instructions} instructions, IPC {_ipc(block.cost.ipc)}; {block.cost.limited_by}"
        )
    for text in cost.not_modelled:
        yield f"  not modelled: {text}"
    for text in cost.assumptions:
        yield f"  assumed: {text}"


def _loop_line(loop: LoopCost) -> str:
    way = "" if loop.shortest == loop.cycles else f", shortest way {in_words(loop.shortest)}"
    return (
        f"loop {loop.label or 'without label'} (lines {loop.line}-{loop.end_line}): {in_words(loop.cycles)} clk an "
        f"iteration{way}, {loop.instructions} instructions, IPC {_ipc(loop.ipc)}; {loop.limited_by}"
    )


def _ipc(value: Cycles) -> str:
    if isinstance(value, Interval):
        return f"{value.low:.3g}..{value.high:.3g}"
    return f"{value:.3g}"


def _loop_document(loop: LoopCost) -> dict[str, Any]:
    return {
        "label": loop.label,
        "line": loop.line,
        "end_line": loop.end_line,
        "depth": loop.depth,
        "parent": loop.parent,
        "blocks": list(loop.blocks),
        "instructions": loop.instructions,
        "cycles_per_iteration": number_or_ends(loop.cycles),
        "shortest_way": number_or_ends(loop.shortest),
        "ipc": number_or_ends(loop.ipc),
        "limited_by": loop.limited_by,
        "steady_state": loop.exact,
    }


def _timeline_document(cost: BlockCost) -> list[dict[str, Any]]:
    return [
        {
            "index": entry.index,
            "text": entry.text,
            "unit": entry.unit,
            "arrived": entry.arrived,
            "start": entry.start,
            "end": entry.end,
            "waits_for": entry.waits_for,
        }
        for entry in cost.timeline
    ]
