"""The rule ``reg.not_on_target``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Operand
from asmevo_gate.isa.registers import AGPR, PAIRS, SGPR, SPECIAL, VGPR, interval_name
from asmevo_gate.isa.resource_limits import resource_limits
from asmevo_gate.isa.targets import Target
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_NAMED_VGPRS = 256
"""An instruction holds 8 bits of a VGPR number; gfx1250 reaches higher ones through s_set_vgpr_msb."""

_SPECIAL = {
    SPECIAL[half]: (kind, pair)
    for pair, kind in (("flat_scratch", "flat_scratch"), ("xnack_mask", "xnack"), ("tba", ""), ("tma", ""))
    for half in (PAIRS[pair], PAIRS[pair].replace("_lo", "_hi"))
}
"""Register -> key in the target's extra SGPRs that stands for its existence ("": no GPU from gfx9 on), and its name."""


def _body(line: str) -> str:
    return f"kernel:\n  {line}\n  s_endpgm\n"


class RegisterNotOnTarget(Rule):
    """A register that the GPU does not have.

    What it does:
        Reports SGPRs beyond those that can be named (s0 to s101 on gfx9, s0 to s105 on gfx10 and later), VGPRs beyond
        v255, AGPRs on GPUs without matrix accumulation registers, and FLAT_SCRATCH, XNACK_MASK, TBA and TMA where they
        are no registers of a program.
    Why it matters:
        The assembler rejects the file. In sources that compute register numbers it happens for some parameters only.
    Repair:
        Use a lower register; on gfx10 and later FLAT_SCRATCH is set through s_setreg or by the hardware.
    Sources:
        LLVM AMDGPUBaseInfo getAddressableNumSGPRs and AMDGPUAsmParser::subtargetHasRegister; AMD ISA guides, operand
        tables (SSRC, SDST).
    """

    id = "reg.not_on_target"
    title = "register does not exist on this GPU"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx90a", _body("s_mov_b32 s103, 0"), line=2),
        Example("gfx1100", _body("s_mov_b64 flat_scratch, 0"), line=2),
        Example("gfx942", _body("v_mov_b32 v256, 0"), line=2),
        Example("gfx90a", _body("global_load_dwordx4 v[254:257], v0, s[0:1]"), line=2),
        Example("gfx1200", _body("global_load_b128 v[254:257], v0, s[0:1]"), line=2),
    )
    good = (
        Example("gfx1100", _body("s_mov_b32 s103, 0")),
        Example("gfx90a", _body("s_mov_b64 flat_scratch, 0")),
        Example("gfx942", _body("v_accvgpr_write_b32 a255, 0")),
        Example("gfx1250", _body("global_load_b128 v[254:257], v0, s[0:1]")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first use of each such register."""
        target = facts.kernel.target
        if not any(_missing(operand, target) for operand in facts.kernel.operands):
            return
        reported: set[str] = set()
        for _, decoded, indices in facts.kernel.spellings:
            if decoded is None:
                continue
            instruction = facts.kernel.instructions[indices[0]]
            for operand in decoded.operands:
                reason = _missing(operand, target)
                name = interval_name(operand.start, operand.length) if reason else ""
                if reason and name not in reported:
                    reported.add(name)
                    yield Violation(
                        place=instruction.statement.place,
                        frames=instruction.statement.frames,
                        message=f"{name} does not exist on {target.name}: {reason}",
                        repair="use another register",
                    )


def _missing(operand: Operand, target: Target) -> str:
    """Why the register does not exist; empty when it does."""
    if not operand.length:
        return ""
    last = operand.start + operand.length - 1
    if VGPR.start <= operand.start < VGPR.start + VGPR.count:
        named = operand.start - VGPR.start < _NAMED_VGPRS
        return "" if named and last - VGPR.start < _vgprs(target) else "the last VGPR that can be named is v255"
    if AGPR.start <= operand.start < AGPR.start + AGPR.count:
        return "" if target.facts["agpr"] else "it has no AGPRs"
    if SGPR.start <= operand.start < SGPR.start + SGPR.count:
        most = int(target.facts["addressable_sgpr"])
        return f"the last SGPR is s{most - 1}" if last - SGPR.start >= most else ""
    kind, pair = _SPECIAL.get(operand.start, ("vcc", ""))
    if kind in resource_limits(target).sgpr.extra or not pair:
        return ""
    return f"{pair} is no register of a program there"


def _vgprs(target: Target) -> int:
    """VGPRs that a wave can have. A tuple is named by its first register, so the others may lie beyond v255."""
    if target.facts["agpr"]:  # those beyond are AGPRs
        return _NAMED_VGPRS
    return max(one.addressable for one in resource_limits(target).vgpr.values())
