"""The rule ``wave.lane``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import SPECIAL, bits
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_LANE = frozenset(("v_readlane_b32", "v_writelane_b32"))
_COUNTS_LOW = frozenset(("v_mbcnt_lo_u32_b32",))
_VCC_HI = bits(SPECIAL["vcc_hi"])
_VCC_LO = bits(SPECIAL["vcc_lo"])
_WAVE64 = "  .amdhsa_wavefront_size32 0\n"


class Lane(Rule):
    """Code for another wave size: a lane that does not exist, or only half of the lanes.

    What it does:
        Reports v_readlane and v_writelane with a lane number that is at or above the wave size (error). In wave64,
        warns of v_mbcnt_lo without any v_mbcnt_hi in the kernel, and of a comparison into VCC of which only vcc_lo is
        looked at.
    Why it matters:
        The hardware takes the lane number modulo the wave size, so lane 32 of a wave32 is lane 0. v_mbcnt_lo alone
        gives every lane of the upper half the number 32. The kernel works on one half of its data twice.
    Repair:
        Use lanes below the wave size; add v_mbcnt_hi_u32_b32; use the 64-bit scalar form on vcc.
    Sources:
        RDNA3 ISA guide, V_READLANE_B32 ("lane select" modulo the wave size) and V_MBCNT_HI_U32_B32; AMD GCN3 ISA 12.
    """

    id = "wave.lane"
    title = "lane access does not fit the wave size"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx1100", kernel_text("  v_readlane_b32 s4, v0, 32\n"), line=3),
        Example("gfx1030", kernel_text("  s_mov_b32 s5, 63\n  v_readlane_b32 s4, v0, s5\n"), line=4),
        Example("gfx1100", kernel_text("  v_mbcnt_lo_u32_b32 v1, -1, 0\n", _WAVE64), line=3),
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc, 9, v0\n  s_bcnt1_i32_b32 s4, vcc_lo\n", _WAVE64), line=4),
    )
    good = (
        Example("gfx1100", kernel_text("  v_readlane_b32 s4, v0, 32\n", _WAVE64)),
        Example("gfx1100", kernel_text("  v_mbcnt_lo_u32_b32 v1, -1, 0\n")),
        Example("gfx900", kernel_text("  v_mbcnt_lo_u32_b32 v1, -1, 0\n  v_mbcnt_hi_u32_b32 v1, -1, v1\n")),
        Example("gfx1100", kernel_text("  v_cmp_gt_u32 vcc, 9, v0\n  s_bcnt1_i32_b64 s4, vcc\n", _WAVE64)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Lane numbers, then the halves of a wave64."""
        kernel = facts.kernel
        for instruction, decoded in kernel.named(_LANE):
            lane = _lane(facts, instruction, decoded.operands[-1])
            if lane is not None and lane >= kernel.wave_size:
                yield _violation(
                    instruction,
                    f"wave{kernel.wave_size} has no lane {lane}: the hardware takes lane {lane % kernel.wave_size}",
                    f"use a lane below {kernel.wave_size}",
                )
        if kernel.wave_size == 64:
            yield from _half_counts(kernel)
            yield from _half_masks(kernel)


def _lane(facts: KernelFacts, instruction: Instruction, operand: Operand) -> int | None:
    if not operand.length:
        return operand.value if isinstance(operand.value, int) else None
    value = facts.known.get(instruction.index, ((None,),))[-1][0]
    return value.constant if value is not None else None


def _violation(instruction: Instruction, message: str, repair: str, warning: bool = False) -> Violation:
    return Violation(
        place=instruction.statement.place,
        frames=instruction.statement.frames,
        message=message,
        repair=repair,
        severity="warning" if warning else None,
    )


def _half_counts(kernel: Function) -> Iterable[Violation]:
    lower = kernel.named(_COUNTS_LOW)
    if lower and "v_mbcnt_hi_u32_b32" not in kernel.mnemonics:
        yield _violation(
            lower[0][0],
            "v_mbcnt_lo counts the lower 32 lanes only, and nothing in this wave64 kernel counts the upper ones",
            "add v_mbcnt_hi_u32_b32 on the result",
            warning=True,
        )


def _half_masks(kernel: Function) -> Iterable[Violation]:
    """A 32-bit scalar read of vcc_lo right behind a comparison, in a kernel that never looks at vcc_hi alone."""
    if not kernel.has(_reads_low_half, among=Op.SALU) or kernel.has(_reads_high_half, among=Op.SALU):
        return
    compared = False
    for instruction in kernel.instructions:
        decoded = instruction.decoded
        if decoded is None:
            compared = False
            continue
        if compared and _reads_low_half(decoded):
            yield _violation(
                instruction,
                f"{decoded.base} looks at vcc_lo only, but in wave64 the comparison wrote 64 lanes to vcc",
                "use the b64 form with vcc",
                warning=True,
            )
        if decoded.writes & _VCC_LO:
            compared = decoded.of(Op.VOPC)


def _reads_low_half(decoded: Decoded) -> bool:
    """A scalar instruction that reads vcc_lo alone."""
    return decoded.of(Op.SALU) and bool(decoded.reads & _VCC_LO) and not decoded.reads & _VCC_HI


def _reads_high_half(decoded: Decoded) -> bool:
    """A scalar instruction that reads vcc_hi alone."""
    return decoded.of(Op.SALU) and bool(decoded.reads & _VCC_HI) and not decoded.reads & _VCC_LO
