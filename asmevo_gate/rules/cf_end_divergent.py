"""The rule ``cf.end_divergent``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.divergence import divergent_branches
from asmevo_gate.analysis.exec_regions import exec_regions, while_masked, writes_memory
from asmevo_gate.program.model import Block, Function
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation


def _body(inside: str, ids: str = "v0") -> str:
    return (
        f"  v_cmp_gt_u32 vcc, 9, {ids}\n  s_and_saveexec_b64 s[8:9], vcc\n  s_cbranch_execz .Lrest\n"
        f"  ds_write_b32 v0, v0\n{inside}.Lrest:\n  s_or_b64 exec, exec, s[8:9]\n  ds_write_b32 v0, v0\n"
    )


class EndDivergent(Rule):
    """A wave ends inside a masked region while lanes that are switched off still have work.

    What it does:
        Reports an s_endpgm that is reached with lanes switched off by s_and_saveexec, when the path around the region
        restores those lanes and goes on to store something. It is an error when the condition surely depends on the
        work-item, a warning otherwise.
    Why it matters:
        s_endpgm ends the wave with all of its lanes. In a wave in which some lanes take the region, the work of the
        others is lost.
    Repair:
        Let the region fall through to the join, or set EXEC to 0 for the lanes that are done and end when none is left.
    Sources:
        AMD ISA guides, S_ENDPGM ("terminate the wavefront"), S_AND_SAVEEXEC_B64.
    """

    id = "cf.end_divergent"
    title = "wave ends while other lanes have work left"
    family = "control-flow"
    severity = "error"
    bad = (Example("gfx900", kernel_text(_body("  s_endpgm\n")), line=7),)
    good = (Example("gfx900", kernel_text(_body(""))),)

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each s_endpgm inside such a region."""
        kernel = facts.kernel
        divergent: set[int] | None = None
        for region in exec_regions(kernel):
            if not facts.liveness.before[region.join.first] & region.saved or not _stores_from(kernel, region.join):
                continue
            for instruction in while_masked(kernel, region.inside):
                if instruction.decoded is None or not instruction.decoded.base.startswith("s_endpgm"):
                    continue
                if divergent is None:
                    divergent = {branch.index for branch in divergent_branches(kernel)}
                severity: Severity | None = None if region.branch.index in divergent else "warning"
                line = region.save.statement.outer_place.line
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=f"the wave ends here, but lanes that line {line} switched off have work left behind the "
                    f"region ('{region.join.label}')",
                    repair="go on to the join instead of ending the wave",
                    severity=severity,
                    producer=region.save,
                )


def _stores_from(kernel: Function, start: Block) -> bool:
    """Something is stored on a path from this block."""
    pending, seen = [start.number], {start.number}
    while pending:
        block = kernel.blocks[pending.pop()]
        if any(writes_memory(one.decoded) for one in kernel.instructions[block.first : block.end]):
            return True
        for number in (*block.successors, *block.entries):
            if number not in seen:
                seen.add(number)
                pending.append(number)
    return False
