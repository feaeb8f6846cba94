"""The rule ``wave.mask_width``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import NotDecoded
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_WAVE64 = "  .amdhsa_wavefront_size32 0\n"


class MaskWidth(Rule):
    """A vector instruction names a lane mask that is not as wide as the wave.

    What it does:
        Reports the masks of comparisons, v_cndmask, carries and v_div_scale that are 64 bits wide in a wave32 kernel or
        32 bits wide in a wave64 kernel.
    Why it matters:
        The assembler rejects the line, with "invalid operand for instruction", when it builds for that wave size: the
        wave size often comes from a command line far away from the source.
    Repair:
        Write vcc_lo or one SGPR in wave32, vcc or an SGPR pair in wave64; or correct .amdhsa_wavefront_size32 and
        the wavefrontsize feature.
    Sources:
        RDNA3 ISA guide 3.5 "VCC" and 7.4 (SGPR masks in wave32 and wave64); LLVM register class SReg_1.
    """

    id = "wave.mask_width"
    title = "lane mask is not as wide as the wave"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc, 9, v0\n"), line=3),
        Example("gfx1030", kernel_text("  v_cndmask_b32_e64 v1, 0, 1, s[4:5]\n"), line=3),
        Example("gfx1100", kernel_text("  v_cmp_gt_u32_e64 s4, 9, v0\n", _WAVE64), line=3),
        Example("gfx942", kernel_text("  v_cmp_gt_u32_e64 s4, 9, v0\n", "  .amdhsa_accum_offset 8\n"), line=3),
    )
    good = (
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc_lo, 9, v0\n  v_cndmask_b32_e64 v1, 0, 1, s4\n")),
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc, 9, v0\n  v_cndmask_b32_e64 v1, 0, 1, s[4:5]\n", _WAVE64)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each mask of the wrong width."""
        wave = facts.kernel.wave_size
        for instruction in facts.kernel.not_understood:
            unknown = instruction.unknown
            if unknown is None or not _is_mask(unknown):
                continue
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"{unknown.reason}, and this is a wave{wave} kernel",
                repair="use one SGPR or vcc_lo" if wave == 32 else "use an SGPR pair or vcc",
            )


def _is_mask(unknown: NotDecoded) -> bool:
    """The operand that does not fit is a lane mask; on GPUs with one wave size the table gives its width alone."""
    if "lane mask" in unknown.reason:
        return True
    width = "registers where the instruction takes" in unknown.reason
    return width and unknown.mnemonic.startswith("v_cmp") and unknown.reason.startswith(("'s", "'vcc"))
