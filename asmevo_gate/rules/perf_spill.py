"""The rule ``perf.spill``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_SPILL = "  scratch_store_dword off, v0, off\n  scratch_load_dword v1, off, off\n"
_SCRATCH = "  .amdhsa_private_segment_fixed_size 64\n  .amdhsa_enable_private_segment 1\n  .amdhsa_accum_offset 8\n"


class Spill(Rule):
    """A kernel uses more scratch memory than before.

    What it does:
        Compares scratch bytes per work-item with the base version and warns when they grew, at the first access to
        scratch. Without a base it notes (info) a kernel that uses scratch at all.
    Why it matters:
        Scratch is memory: registers that are spilled to it cost a store and a load each, often in the hottest loop.
        After a compiler update it is the usual reason for a sudden slow-down.
    Repair:
        Lower the register pressure, or allow more registers and fewer waves.
    Sources:
        AMDGPUUsage, ".amdhsa_private_segment_fixed_size".
    """

    id = "perf.spill"
    title = "more scratch memory than before"
    family = "performance"
    severity = "warning"
    bad = (
        Example(
            "gfx942",
            kernel_text(_SPILL, _SCRATCH),
            line=3,
            base=kernel_text("  v_mov_b32 v1, v0\n", "  .amdhsa_accum_offset 8\n"),
        ),
        Example("gfx942", kernel_text(_SPILL, _SCRATCH), line=3),
    )
    good = (
        Example("gfx942", kernel_text(_SPILL, _SCRATCH), base=kernel_text(_SPILL, _SCRATCH)),
        Example("gfx942", kernel_text("  v_mov_b32 v1, v0\n", "  .amdhsa_accum_offset 8\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Scratch against the base."""
        now = facts.resources.scratch_bytes
        if not now:
            return
        before = facts.base.resources.scratch_bytes if facts.base is not None else None
        if facts.base is not None and (before is None or now <= before):
            return
        instruction = _first_scratch_access(facts) or facts.kernel.instructions[0]
        was = f"{before} bytes before" if before is not None else "no base to compare with"
        yield Violation(
            place=instruction.statement.place,
            frames=instruction.statement.frames,
            message=f"'{facts.kernel.name}' uses {now} bytes of scratch per work-item ({was})",
            repair="keep the values in registers, or accept the spill knowingly",
            severity=None if facts.base is not None else "info",
            context="scratch",
        )


def _first_scratch_access(facts: KernelFacts) -> Instruction | None:
    return next((one for one, _ in facts.kernel.of(Op.SCRATCH)), None)
