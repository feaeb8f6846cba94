"""The rule ``wave.exec32_in_wave64``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.registers import SPECIAL, bits
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_LOW, _HIGH = bits(SPECIAL["exec_lo"]), bits(SPECIAL["exec_hi"])
_WAVE64 = "  .amdhsa_wavefront_size32 0\n"


def _region(wide: bool) -> str:
    save, mask, saved, whole, width = (
        ("s_and_saveexec_b64", "vcc", "s[8:9]", "exec", "b64") if wide
        else ("s_and_saveexec_b32", "vcc_lo", "s8", "exec_lo", "b32")
    )  # fmt: skip
    return (
        f"  v_cmp_gt_u32 vcc, 16, v0\n  {save} {saved}, {mask}\n  v_mov_b32 v2, 2.0\n"
        f"  s_or_{width} {whole}, {whole}, {saved}\n"
    )


class Exec32InWave64(Rule):
    """A 32-bit EXEC operation in a kernel that runs with 64 lanes.

    What it does:
        In a wave64 kernel, reports s_*_saveexec_b32 and s_*_wrexec_b32 (error, unless the work-group has at most 32
        work-items), and scalar writes of exec_lo in a kernel that never writes exec_hi (warning).
    Why it matters:
        The upper 32 lanes stay as they were: work that a condition should switch off is done by half of the lanes
        anyway.
    Repair:
        Use the b64 form with exec and an SGPR pair, or build the kernel for wave32 (.amdhsa_wavefront_size32 1).
    Sources:
        RDNA3 ISA guide 3.3 "EXECute mask"; S_AND_SAVEEXEC_B32 writes EXEC_LO only.
    """

    id = "wave.exec32_in_wave64"
    title = "32-bit EXEC operation in a wave64 kernel"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx1100", kernel_text(_region(wide=False), _WAVE64), line=4),
        Example("gfx1030", kernel_text("  s_mov_b32 exec_lo, 1\n", _WAVE64), line=3),
    )
    good = (
        Example("gfx1100", kernel_text(_region(wide=True), _WAVE64)),
        Example("gfx1030", kernel_text("  s_mov_b32 exec_lo, 1\n  s_mov_b32 exec_hi, 0\n", _WAVE64)),
        Example("gfx1030", kernel_text("  s_mov_b32 exec_lo, 1\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Writes of exec_lo that leave exec_hi behind."""
        kernel = facts.kernel
        work_group = facts.resources.work_group
        if kernel.wave_size != 64 or (work_group is not None and work_group[1] <= 32):
            return
        upper = kernel.has(lambda decoded: decoded.writes & _HIGH and not decoded.writes & _LOW, among=Op.SALU)
        for instruction, decoded in kernel.where(lambda decoded: decoded.writes & _LOW, among=Op.SALU):
            saves = decoded.base.endswith(("saveexec_b32", "wrexec_b32"))
            if not saves and (upper or decoded.writes & _HIGH):
                continue
            severity: Severity | None = None if saves else "warning"
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"{decoded.base} changes exec_lo only, but in wave64 lanes 32 to 63 then stay as they are",
                repair="use the b64 form with exec",
                severity=severity,
            )
