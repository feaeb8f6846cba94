"""The rule ``wait.scalar_store``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Block, Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_NONE = -1


class ScalarStoreNotWrittenBack(Rule):
    """A kernel ends with scalar stores in the scalar data cache.

    What it does:
        Reports an s_endpgm that some path reaches with a scalar store (s_store_dword, s_buffer_store_dword,
        s_scratch_store_dword) behind which no s_dcache_wb has been executed. Scalar atomics are done in the L2 cache
        and need none. Behind a call or an instruction that is not understood nothing is said.
    Why it matters:
        Scalar stores stay in the scalar data cache, which nothing writes back at the end of a kernel: the data may
        never reach memory.
    Repair:
        Put s_dcache_wb before the s_endpgm.
    Sources:
        AMD Vega ISA guide, S_DCACHE_WB; LLVM SIInsertWaitcnts (flush of scalar stores before S_ENDPGM).
    """

    id = "wait.scalar_store"
    title = "scalar stores are not written back at the end"
    family = "wait"
    severity = "warning"
    bad = (
        Example("gfx900", "kernel:\n  s_store_dword s2, s[0:1], 0x0\n  s_endpgm\n", line=3),
        Example(
            "gfx1010",
            "kernel:\n  s_dcache_wb\n  s_cbranch_scc1 .Lend\n  s_store_dword s2, s[0:1], 0x0\n.Lend:\n  s_endpgm\n",
            line=6,
        ),
    )
    good = (
        Example("gfx900", "kernel:\n  s_store_dword s2, s[0:1], 0x0\n  s_dcache_wb\n  s_endpgm\n"),
        Example("gfx1010", "kernel:\n  s_atomic_add s2, s[0:1], 0x0\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every end of the wave that a store reaches."""
        kernel = facts.kernel
        if not kernel.has(_is_scalar_store, among=Op.SMEM):
            return
        for end, store in _stores_at_ends(kernel):
            yield Violation(
                place=end.statement.place,
                frames=end.statement.frames,
                message=f"the store '{store.statement.name}' of line {store.statement.place.line} is not written back",
                repair="put s_dcache_wb before the s_endpgm",
                insertion="s_dcache_wb",
                producer=store,
                context=end.statement.text,
            )


def _is_scalar_store(decoded: Decoded) -> bool:
    return decoded.of(Op.SMEM) and decoded.of(Op.STORE) and not decoded.of(Op.ATOMIC)


def _stores_at_ends(kernel: Function) -> list[tuple[Instruction, Instruction]]:
    """Each s_endpgm with the first store that may reach it. A block's entry only ever changes from none to a store."""
    entries = [_NONE] * len(kernel.blocks)
    work = list(range(len(kernel.blocks)))
    while work:
        block = kernel.blocks[work.pop()]
        last = _behind(kernel, block, entries[block.number])
        for successor in block.successors:
            if last != _NONE and entries[successor] == _NONE:
                entries[successor] = last
                work.append(successor)
    found = []
    for block in kernel.blocks:
        end = kernel.instructions[block.end - 1]
        if end.decoded is not None and end.decoded.base.startswith("s_endpgm"):
            store = _behind(kernel, block, entries[block.number])
            if store != _NONE:
                found.append((end, kernel.instructions[store]))
    return found


def _behind(kernel: Function, block: Block, store: int) -> int:
    """The store that is not written back at the end of a block, for the one at its start."""
    for instruction in kernel.instructions[block.first : block.end]:
        decoded = instruction.decoded
        if decoded is None or decoded.is_call or decoded.base.startswith("s_dcache_wb"):
            store = _NONE
        elif store == _NONE and _is_scalar_store(decoded):
            store = instruction.index
    return store
