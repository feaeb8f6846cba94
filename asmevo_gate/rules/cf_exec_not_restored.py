"""The rule ``cf.exec_not_restored``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.exec_regions import exec_regions, lane_saves, straight_on, while_masked, writes_memory
from asmevo_gate.analysis.lost_masks import lost_masks
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.registers import set_name
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


def _kernel(end: str) -> str:
    return (
        "kernel:\n  v_cmp_gt_u32 vcc, 9, v0\n  s_and_saveexec_b64 s[8:9], vcc\n  s_cbranch_execz .Ljoin\n"
        f"  v_mov_b32 v1, 1.0\n.Ljoin:\n{end}"
    )


_STORE = "  global_store_dword v2, v1, s[4:5]\n  s_endpgm\n"
_RESTORE = "  s_or_b64 exec, exec, s[8:9]\n"


class ExecNotRestored(Rule):
    """Lanes that a condition switched off do not come back where the paths join.

    What it does:
        Looks at s_and_saveexec whose saved mask is not used any more. Reports the first store or atomic that follows,
        while nothing has restored EXEC, behind the join of a region with a branch around it (s_cbranch_execz) or
        behind a barrier. Going straight to s_endpgm is fine. Also reports, as an error, a restore from a register that
        holds the saved mask on one path and on another the mask of a region inside, a constant, or a loaded or computed
        number.
    Why it matters:
        Work-items for which the condition was false do not execute the store, and a wave that took the branch executes
        it for no lane at all: their results are missing.
    Repair:
        Put s_or_b64 exec, exec, SAVED (wave32: s_or_b32 exec_lo, exec_lo, SAVED) at the join.
    Sources:
        AMD ISA guides, "EXECute mask" and S_AND_SAVEEXEC; LLVM SILowerControlFlow (how structured regions end).
    """

    id = "cf.exec_not_restored"
    title = "EXEC is not restored after a masked region"
    family = "control-flow"
    severity = "warning"
    bad = (
        Example("gfx900", _kernel(_STORE), line=7),
        Example(
            "gfx1100",
            "kernel:\n  v_cmp_gt_u32 vcc_lo, 9, v0\n  s_and_saveexec_b32 s8, vcc_lo\n  s_cbranch_execz .Ljoin\n"
            "  v_mov_b32 v1, 1.0\n.Ljoin:\n  ds_store_b32 v2, v1\n  s_endpgm\n",
            line=7,
        ),
        Example(
            "gfx90a",
            "kernel:\n  s_and_saveexec_b64 s[8:9], vcc\n  ds_write_b32 v2, v1\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n"
            "  ds_read_b32 v3, v2 offset:4\n  s_waitcnt lgkmcnt(0)\n  global_store_dword v2, v3, s[4:5]\n  s_endpgm\n",
            line=8,
        ),
        Example("gfx900", _kernel(_RESTORE + _STORE).replace("  v_mov_b32 v1, 1.0\n", "  s_mov_b32 s8, 7\n"), line=7),
    )
    good = (
        Example("gfx900", _kernel(_RESTORE + _STORE)),
        Example("gfx900", _kernel(_RESTORE + _STORE).replace("  v_mov_b32 v1, 1.0\n", "  s_mov_b32 s10, 7\n")),
        Example("gfx900", _kernel("  s_endpgm\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first lost store behind each region."""
        kernel = facts.kernel
        reported: set[int] = set()
        for region in exec_regions(kernel):
            if facts.liveness.before[region.join.first] & region.saved:
                continue
            stores = [one for one in while_masked(kernel, region.join) if writes_memory(one.decoded)]
            first = min(stores, key=lambda one: one.index, default=None)
            if first is None or first.index in reported:
                continue
            reported.add(first.index)
            yield _violation(region.save, first, "the join of the region")
        for save in lane_saves(kernel):
            late = _store_behind_barrier(facts, save)
            if late is not None and late.index not in reported:
                reported.add(late.index)
                yield _violation(save, late, "the barrier")
        for lost in lost_masks(kernel):
            lines = [one.statement.outer_place.line for one in (lost.overwrite, lost.save)]
            yield Violation(
                place=lost.restore.statement.place,
                frames=lost.restore.statement.frames,
                message=f"EXEC gets {set_name(lost.registers)} back, but line {lines[0]} has overwritten the mask that "
                f"line {lines[1]} saved there",
                repair="use another register inside of the region",
                producer=lost.overwrite,
                severity="error",
            )


def _violation(save: Instruction, lost: Instruction, where: str) -> Violation:
    line = save.statement.outer_place.line
    return Violation(
        place=lost.statement.place,
        frames=lost.statement.frames,
        message=f"the lanes that line {line} switched off do not execute this: nothing restores EXEC before {where}",
        repair="restore EXEC from the saved mask",
        producer=save,
    )


def _store_behind_barrier(facts: KernelFacts, save: Instruction) -> Instruction | None:
    """The first store behind a barrier that is reached with lanes off and their mask lost."""
    decoded = save.decoded
    if decoded is None or facts.liveness.after[save.index] & decoded.operands[0].mask:
        return None
    behind = False
    for instruction in straight_on(facts.kernel, save):
        behind = behind or (instruction.decoded is not None and instruction.decoded.of(Op.BARRIER))
        if behind and writes_memory(instruction.decoded):
            return instruction
    return None
