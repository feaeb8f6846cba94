"""The rule ``cf.barrier_divergent``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.control_dependence import controlling_branches, immediate_post_dominators
from asmevo_gate.analysis.divergence import divergent_branches
from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import Block, Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_DESCRIPTOR = (
    "\n.rodata\n.amdhsa_kernel kernel\n  .amdhsa_next_free_vgpr 8\n  .amdhsa_next_free_sgpr 16\n"
    "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_group_segment_fixed_size 2048\n.end_amdhsa_kernel\n"
)


class BarrierDivergent(Rule):
    """A barrier that some waves of a work-group jump over.

    What it does:
        Reports an s_barrier that is executed or skipped by a branch whose condition surely depends on the work-item
        (its id, a lane counter, or what is computed or loaded from them). Branches on values that are the same for
        the whole work-group (kernel arguments, work-group ids) are fine, and so is a work-group of a single wave.
        It is no fault when both ways to the join have barriers (waves with different roles, each with its own code),
        nor when the waves that do not reach the barrier end: a barrier waits for the surviving waves only.
    Why it matters:
        Every wave of a work-group must execute the same barriers. When one skips a barrier the others wait for it:
        the work-group hangs, or runs out of step and reads what is not written yet.
    Repair:
        Move the barrier behind the join of the two paths, and keep only the masked work inside.
    Sources:
        AMD ISA guides, S_BARRIER ("synchronize waves within a threadgroup"; it "waits on only
        the surviving waves" once some have ended); OpenCL C 6.15.8, work-group barriers.
    """

    id = "cf.barrier_divergent"
    title = "barrier in divergent control flow"
    family = "control-flow"
    severity = "error"
    bad = (
        Example(
            "gfx900",
            ".text\nkernel:\n  v_cmp_gt_u32 vcc, 128, v0\n  s_and_saveexec_b64 s[8:9], vcc\n  s_cbranch_execz .Lskip\n"
            "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n.Lskip:\n"
            "  s_or_b64 exec, exec, s[8:9]\n  s_endpgm" + _DESCRIPTOR,
            line=8,
        ),
    )
    good = (
        Example(
            "gfx900",
            ".text\nkernel:\n  v_cmp_gt_u32 vcc, 128, v0\n  s_and_saveexec_b64 s[8:9], vcc\n  s_cbranch_execz .Lskip\n"
            "  ds_write_b32 v1, v0\n.Lskip:\n  s_or_b64 exec, exec, s[8:9]\n"
            "  s_waitcnt lgkmcnt(0)\n  s_barrier\n  s_endpgm" + _DESCRIPTOR,
        ),
        Example(
            "gfx900",
            ".text\nkernel:\n  s_load_dword s4, s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_cmp_eq_u32 s4, 0\n"
            "  s_cbranch_scc1 .Lskip\n  s_barrier\n.Lskip:\n  s_endpgm" + _DESCRIPTOR,
        ),
        Example(
            "gfx900",
            ".text\nkernel:\n  v_lshrrev_b32 v1, 6, v0\n  v_readfirstlane_b32 s4, v1\n  s_cmp_eq_u32 s4, 0\n"
            "  s_cbranch_scc1 .Lfirst\n  s_barrier\n  ds_read_b32 v2, v3\n  s_branch .Ljoin\n.Lfirst:\n"
            "  ds_write_b32 v3, v0\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n.Ljoin:\n  s_waitcnt lgkmcnt(0)\n  s_endpgm"
            + _DESCRIPTOR,
        ),
        Example(
            "gfx900",
            ".text\nkernel:\n  v_lshrrev_b32 v1, 6, v0\n  v_readfirstlane_b32 s4, v1\n  s_cmp_eq_u32 s4, 3\n"
            "  s_cbranch_scc1 .Lend\n  ds_write_b32 v3, v0\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n.Lend:\n  s_endpgm"
            + _DESCRIPTOR,
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Barriers that a divergent branch controls."""
        kernel = facts.kernel
        barriers = [one for one, _ in kernel.of(Op.BARRIER)]
        if not barriers or facts.resources.waves_per_work_group == 1:
            return
        divergent = {branch.index: branch for branch in divergent_branches(kernel)}
        if not divergent:
            return
        controlling = controlling_branches(kernel)
        skipping = _branches_around_barriers(kernel, barriers)
        for block in kernel.blocks:
            indices = [kernel.blocks[number].end - 1 for number in sorted(controlling[block.number] & skipping)]
            deciding = [divergent[index] for index in indices if index in divergent]
            if not deciding:
                continue
            for barrier in barriers:
                if block.first <= barrier.index < block.end:
                    branch = kernel.instructions[deciding[-1].index]
                    yield Violation(
                        place=barrier.statement.place,
                        frames=barrier.statement.frames,
                        message=f"waves take the branch in line {branch.statement.place.line} differently "
                        f"({deciding[-1].condition} depends on the work-item), so not all of them reach this barrier",
                        repair="move the barrier to where both paths have joined",
                        producer=branch,
                    )


def _branches_around_barriers(kernel: Function, barriers: list[Instruction]) -> set[int]:
    """Blocks with a branch one of whose ways meets no barrier before both ways join, while the other meets one.

    Where both ways have barriers the waves play different roles, and how many barriers each executes is not known.
    """
    with_barrier = {block.number for block in kernel.blocks for one in barriers if block.first <= one.index < block.end}
    calling = {one.number for one in kernel.blocks for entry in one.entries if with_barrier & kernel.subroutines[entry]}
    with_barrier |= calling
    joins = immediate_post_dominators(kernel)
    found = set()
    for block in kernel.blocks:
        join = joins[block.number]
        if len(block.successors) < 2 or join is None or _ends_at_once(kernel, kernel.blocks[join]):
            continue
        ways = {bool(_reached(kernel, successor, join) & with_barrier) for successor in block.successors}
        if len(ways) == 2:
            found.add(block.number)
    return found


def _reached(kernel: Function, start: int, join: int) -> set[int]:
    """The blocks from ``start`` on, up to the join."""
    reached: set[int] = set()
    pending = [start]
    while pending:
        number = pending.pop()
        if number != join and number not in reached:
            reached.add(number)
            pending += kernel.blocks[number].successors
    return reached


def _ends_at_once(kernel: Function, block: Block) -> bool:
    """Nothing but the end of the wave."""
    last = kernel.instructions[block.end - 1].decoded
    return not block.successors and block.end - block.first == 1 and last is not None and last.of(Op.TERMINATOR)
