"""The rule ``enc.vopd``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import VGPR, register_name
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_BANKS = (4, 4, 2)
"""VGPR banks of src0, src1 and src2."""


def _body(line: str) -> str:
    return f"kernel:\n  {line}\n  s_endpgm\n"


class Vopd(Rule):
    """The two halves of a dual instruction use registers that it cannot read or write together.

    What it does:
        Checks v_dual_* pairs: one destination must be even and the other odd, and the VGPRs that both halves read as
        the same source (src0, src1: register number modulo 4; src2, the accumulator included: modulo 2) must lie in
        different banks. On gfx12 two v_dual_mov_b32 may read any registers. GPUs whose pairing has other rules
        (gfx1250) are not checked.
    Why it matters:
        Both halves read their operands in the same clock, one register from each bank. The assembler rejects the
        pair; generators that number registers from parameters meet it for some of them only.
    Repair:
        Swap the sources of a commutative half, renumber a register, or write two single instructions.
    Sources:
        RDNA3 ISA guide 7.6 "Dual Issue VALU"; LLVM AMDGPUBaseInfo VOPD::InstInfo::getInvalidCompOperandIndex.
    """

    id = "enc.vopd"
    title = "halves of a dual instruction use the same VGPR bank"
    family = "isa"
    severity = "error"
    bad = (
        Example("gfx1100", _body("v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v2, v4, v7"), line=2),
        Example("gfx1100", _body("v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v5, v7"), line=2),
        Example("gfx1200", _body("v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v6"), line=2),
    )
    good = (
        Example("gfx1100", _body("v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v7")),
        Example("gfx1100", _body("v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v3, s4, v7")),
        Example("gfx1200", _body("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v5")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first broken restriction of each pair."""
        rules = facts.kernel.target.facts.get("vopd")
        if rules is None:
            return
        for instruction, decoded in facts.kernel.where(lambda decoded: len(decoded.halves) == 2, among=Op.VOPD):
            x, y = decoded.halves
            free_moves = rules == "gfx12" and x.base == y.base == "v_dual_mov_b32"
            message = _broken(x, y, free_moves)
            if message:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=message,
                    repair="swap sources, renumber a register, or write two instructions",
                )


def _broken(x: Decoded, y: Decoded, free_sources: bool) -> str:
    """Which restriction the pair breaks; empty when it breaks none. ``free_sources``: sources may be in any bank."""
    destinations = x.operands[0].start, y.operands[0].start
    if destinations[0] % 2 == destinations[1] % 2:
        names = " and ".join(register_name(start) for start in destinations)
        return (
            f"the destinations {names} are both {'odd' if destinations[0] % 2 else 'even'}: one must be even, one odd"
        )
    for position, (one, other, banks) in enumerate(zip(_sources(x), _sources(y), _BANKS, strict=True)):
        if free_sources or one is None or other is None or one % banks != other % banks:
            continue
        return (
            f"both halves read src{position} from the same VGPR bank: {register_name(one)} and {register_name(other)}"
        )
    return ""


def _sources(half: Decoded) -> tuple[int | None, int | None, int | None]:
    """The VGPRs that a half reads as src0, src1 and src2."""
    found = [_vgpr(operand) for operand in half.operands[1:4]]
    found += [None] * (3 - len(found))
    if half.base.startswith(("v_dual_fmac", "v_dual_dot2c", "v_dual_dot2acc")):
        found[2] = half.operands[0].start
    return found[0], found[1], found[2]


def _vgpr(operand: Operand) -> int | None:
    return operand.start if operand.length and VGPR.start <= operand.start < VGPR.start + VGPR.count else None
