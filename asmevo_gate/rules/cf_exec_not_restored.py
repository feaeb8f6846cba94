"""The rule ``cf.exec_not_restored``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.exec_regions import exec_regions, while_masked, writes_memory
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
        Looks at s_and_saveexec with a branch around the region (s_cbranch_execz). Reports the first store or atomic
        that follows the join while nothing has restored EXEC, when the saved mask is not used any more. Going straight
        to s_endpgm is fine.
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
    )
    good = (
        Example("gfx900", _kernel(_RESTORE + _STORE)),
        Example("gfx900", _kernel("  s_endpgm\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first lost store behind each region."""
        kernel = facts.kernel
        reported: set[int] = set()
        for region in exec_regions(kernel):
            if facts.liveness.before[region.join.first] & region.saved:
                continue
            lost = [one for one in while_masked(kernel, region.join) if writes_memory(one.decoded)]
            first = min(lost, key=lambda one: one.index, default=None)
            if first is None or first.index in reported:
                continue
            reported.add(first.index)
            line = region.save.statement.outer_place.line
            yield Violation(
                place=first.statement.place,
                frames=first.statement.frames,
                message=f"the lanes that line {line} switched off do not execute this: the join restores no EXEC",
                repair="restore EXEC from the saved mask where the branch of the region jumps to",
                producer=region.save,
            )
