"""The rule ``wave.exec64_in_wave32``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC, SPECIAL, bits
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_HIGH = bits(SPECIAL["vcc_hi"]) | bits(SPECIAL["exec_hi"])


class Exec64InWave32(Rule):
    """A 64-bit lane mask in a kernel that runs with 32 lanes.

    What it does:
        In a wave32 kernel, reports scalar instructions that read EXEC or VCC as a 64-bit pair while nothing in the
        kernel gives the upper half a value, and the 64-bit s_*_saveexec and s_*_wrexec. A 64-bit write of EXEC that
        reads no such half is a warning. `s_and_b64 exec, exec, exec` and the like, which leave the mask as it is and
        only set the zero flags anew, are fine.
    Why it matters:
        With 32 lanes only exec_lo and vcc_lo are lane masks; exec_hi and vcc_hi are ordinary state that the launch
        does not set. A 64-bit save, test or restore mixes that garbage in: branches on SCC go the wrong way.
    Repair:
        Use the 32-bit form with exec_lo and vcc_lo, or build the kernel for wave64 (.amdhsa_wavefront_size32 0).
    Sources:
        RDNA3 ISA guide 3.3 "EXECute mask" and 3.5 "VCC": in wave32 only bits 31:0 count.
    """

    id = "wave.exec64_in_wave32"
    title = "64-bit lane mask in a wave32 kernel"
    family = "register"
    severity = "error"
    bad = (
        Example(
            "gfx1100",
            "kernel:\n  v_cmp_gt_u32 vcc_lo, 16, v0\n  s_and_saveexec_b64 s[8:9], vcc\n  v_mov_b32 v2, 2.0\n"
            "  s_or_b64 exec, exec, s[8:9]\n  s_endpgm\n",
            line=3,
        ),
        Example("gfx1030", "kernel:\n  s_and_saveexec_b64 s[8:9], s[2:3]\n  s_endpgm\n", line=2),
        Example("gfx1200", "kernel:\n  s_mov_b64 exec, s[2:3]\n  s_endpgm\n", line=2),
    )
    good = (
        Example(
            "gfx1100",
            "kernel:\n  v_cmp_gt_u32 vcc_lo, 16, v0\n  s_and_saveexec_b32 s8, vcc_lo\n  v_mov_b32 v2, 2.0\n"
            "  s_or_b32 exec_lo, exec_lo, s8\n  s_endpgm\n",
        ),
        Example("gfx1030", "kernel:\n  s_mov_b64 vcc, 0\n  s_or_b64 vcc, vcc, s[2:3]\n  s_endpgm\n"),
        Example("gfx1200", "kernel:\n  s_and_b64 exec, exec, exec\n  s_mov_b64 vcc, vcc\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """64-bit scalar accesses to EXEC or VCC whose upper half holds nothing."""
        kernel = facts.kernel
        if kernel.wave_size != 32:
            return
        written = 0
        for _, decoded, _ in kernel.spellings:
            if decoded is not None and not decoded.reads & _HIGH:
                written |= decoded.writes & _HIGH
        for instruction, decoded in kernel.where(lambda decoded: not _keeps_value(decoded), among=Op.SALU):
            half = decoded.reads & _HIGH & ~written
            severity: Severity | None = None
            if half:
                name = "exec" if half & EXEC else "vcc"
                message = (
                    f"{decoded.base} reads {name} as 64 bits, but this is a wave32 kernel and {name}_hi holds no mask"
                )
            elif decoded.base.endswith(("saveexec_b64", "wrexec_b64")):
                message = (
                    f"{decoded.base} saves and sets 64 lanes, but this is a wave32 kernel and exec_hi holds no mask"
                )
                name = "exec"
            elif decoded.writes & EXEC == EXEC:
                message, name = f"{decoded.base} writes 64 bits of exec, but a wave32 kernel has exec_lo alone", "exec"
                severity = "warning"
            else:
                continue
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=message,
                repair=f"use the b32 form with {name}_lo",
                severity=severity,
            )


def _keeps_value(decoded: Decoded) -> bool:
    """True for s_and_b64, s_or_b64 and s_mov_b64 of a register with itself."""
    if decoded.base not in ("s_and_b64", "s_or_b64", "s_mov_b64"):
        return False
    return len({(operand.start, operand.length) for operand in decoded.operands}) == 1
