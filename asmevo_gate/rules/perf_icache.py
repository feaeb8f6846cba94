"""The rule ``perf.icache``."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from asmevo_gate.analysis.loops import natural_loops
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_SMALLEST = 16 * 1024
"""Loops below this fit into the instruction cache of every GPU that has a fingerprint."""


def _loop(count: int) -> str:
    return (
        f"kernel:\n  s_mov_b32 s4, 9\n.Lagain:\n  v_add3_u32 v0, v0, v1, v2\n.rept {count}\n"
        "  v_add3_u32 v0, v0, v1, v2\n.endr\n  s_sub_u32 s4, s4, 1\n  s_cmp_lg_u32 s4, 0\n"
        "  s_cbranch_scc1 .Lagain\n  s_endpgm\n"
    )


class InstructionCache(Rule):
    """A loop is larger than the instruction cache.

    What it does:
        Adds up the least size of the instructions of each loop and compares it with the instruction cache in the GPU's
        fingerprint. With a base version it warns of a loop that fitted before (or did not exist) and does not now;
        without one it notes (info) a loop that does not fit.
    Why it matters:
        Each round then fetches the code from the second-level cache again. All waves of a compute unit wait for it, and
        no counter of the kernel itself shows why.
    Repair:
        Unroll less, or move rarely executed code out of the loop.
    Sources:
        The fingerprint microarch/GPU.yaml, fetch.icache_bytes, names its source and its confidence.
    """

    id = "perf.icache"
    title = "loop does not fit into the instruction cache"
    family = "performance"
    severity = "warning"
    bad = (
        Example("gfx1100", _loop(4200), line=4, base=_loop(4000)),
        Example("gfx942", _loop(8200), line=4),
    )
    good = (
        Example("gfx1100", _loop(4000), base=_loop(10)),
        Example("gfx1100", _loop(4300), base=_loop(4200)),
        Example("gfx942", _loop(8000)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Innermost loops that do not fit."""
        loops = [loop for loop in _loop_sizes(facts.kernel) if loop.bytes > _SMALLEST]
        if not loops:
            return
        cache = _cache_bytes(facts.kernel)
        too_large = [loop for loop in loops if cache is not None and loop.bytes > cache]
        if not too_large or cache is None:
            return
        before = max((loop.bytes for loop in _loop_sizes(facts.base.kernel)), default=0) if facts.base else None
        if before is not None and before > cache:
            return
        loop = min(too_large, key=lambda one: one.bytes)
        was = f"the largest loop had {before:,} before" if before is not None else "no base to compare with"
        yield Violation(
            place=loop.first.statement.outer_place,
            message=f"this loop has at least {loop.bytes:,} bytes of code, the instruction cache {cache:,} ({was})",
            repair="unroll less",
            severity=None if before is not None else "info",
            context="instruction cache",
        )


class _LoopSize(msgspec.Struct, frozen=True):
    first: Instruction
    bytes: int


def _loop_sizes(kernel: Function) -> list[_LoopSize]:
    """Every loop with the least size of its code."""
    sizes = []
    for loop in natural_loops(kernel.blocks):
        blocks = [kernel.blocks[number] for number in loop.blocks]
        total = sum(kernel.offsets[block.end] - kernel.offsets[block.first] for block in blocks)
        sizes.append(_LoopSize(kernel.instructions[kernel.blocks[loop.header].first], total))
    return sizes


def _cache_bytes(kernel: Function) -> int | None:
    """The instruction cache of the GPU; ``None`` without a fingerprint or a figure in it."""
    from asmevo_gate.cost.fingerprint import fingerprint_names, load_fingerprint

    name = next((name for name in (kernel.target.name, kernel.target.table) if name in fingerprint_names()), None)
    leaf = load_fingerprint(name).fetch.get("icache_bytes") if name is not None else None
    return int(leaf.number) if leaf is not None and leaf.known else None
