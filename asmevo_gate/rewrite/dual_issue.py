"""Proposer: two independent vector instructions as one VOPD instruction (gfx11 and later, wave32).

Rules of RDNA3 ISA 7.6, "Dual Issue VALU": the first sources stand in different VGPR banks (number modulo 4), and so do
the second sources; one destination is even and the other odd. Pairs with literals are left to the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op, Operand
from asmevo_gate.isa.registers import VGPRS
from asmevo_gate.rewrite.edit_script import Delete, Edit, Replace
from asmevo_gate.rewrite.proposal import Proposal, Situation

_BOTH = frozenset(
    [
        *("v_fmac_f32", "v_mul_f32", "v_add_f32", "v_sub_f32", "v_subrev_f32", "v_mov_b32", "v_max_f32", "v_min_f32"),
        *("v_max_num_f32", "v_min_num_f32", "v_mul_dx9_zero_f32"),
    ]
)
_SECOND = _BOTH | {"v_add_nc_u32", "v_lshlrev_b32", "v_and_b32"}
_WINDOW = 12
_BANKS = 4


class DualIssue:
    """VOPD pairs; the assembler has the last word on their form."""

    name = "dual_issue"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """All pairs at once, then each alone."""
        if situation.region.function.wave_size != 32 or not _has_dual_issue(situation):
            return
        pairs = list(_pairs(situation))
        if len(pairs) > 1:
            script = tuple(edit for edits in pairs for edit in edits)
            yield Proposal(script, self.name, f"issue {len(pairs)} pairs of instructions together")
        for edits in pairs:
            yield Proposal(edits, self.name, "issue two instructions together")


def _has_dual_issue(situation: Situation) -> bool:
    return not isinstance(situation.isa.decode("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2"), NotDecoded)


def _pairs(situation: Situation) -> Iterator[tuple[Edit, ...]]:
    decoded = situation.decoded
    used: set[int] = set()
    for first, one in enumerate(decoded):
        if first in used or not _fits(one, _SECOND):
            continue
        for second in range(first + 1, min(first + _WINDOW, len(decoded))):
            other = decoded[second]
            if second in used or not _fits(other, _SECOND) or not _may_rise(decoded, first, second, used):
                continue
            text = _text(situation, one, other)
            if text:
                used |= {first, second}
                yield Replace(first, text), Delete(second)
                break


def _fits(one: Decoded, among: frozenset[str]) -> bool:
    if one.base not in among or one.variant != "e32" or one.modifiers or one.implicit_writes:
        return False
    if any(operand.half is not None or operand.indexed or operand.length > 1 for operand in one.operands):
        return False
    return all(_simple(operand) for operand in one.operands[1:])


def _simple(operand: Operand) -> bool:
    if operand.length:
        return not operand.text.startswith(("-", "|", "neg", "abs"))
    return isinstance(operand.value, int) and -16 <= operand.value <= 64


def _may_rise(decoded: Sequence[Decoded], first: int, second: int, used: set[int]) -> bool:
    """Whether the second instruction may stand beside the first: nothing between them, and not the first, depends on it
    or the other way round."""
    late = decoded[second]
    for number in range(first, second):
        one = decoded[number]
        if one.writes & (late.reads | late.writes) or one.reads & late.writes:
            return False
        if one.classes & Op.WAIT or (number in used and number != first):
            return False
    return True


def _text(situation: Situation, one: Decoded, other: Decoded) -> str:
    for x, y in ((one, other), (other, one)):
        if x.base in _BOTH and _banks_differ(x, y):
            text = f"{_half(x)} :: {_half(y)}"
            if not isinstance(situation.isa.decode(text), NotDecoded):
                return text
    return ""


def _banks_differ(x: Decoded, y: Decoded) -> bool:
    if (x.operands[0].start + y.operands[0].start) % 2 == 0:
        return False
    for place in (1, 2):
        pair = [half.operands[place] for half in (x, y) if len(half.operands) > place]
        in_registers = len(pair) == 2 and all(operand.mask & VGPRS for operand in pair)
        if in_registers and pair[0].start % _BANKS == pair[1].start % _BANKS:
            return False
    scalars = {operand.start for half in (x, y) for operand in half.operands[1:] if operand.mask & ~VGPRS}
    return len(scalars) <= 1


def _half(one: Decoded) -> str:
    return f"v_dual_{one.base.removeprefix('v_')} {', '.join(operand.text for operand in one.operands)}"
