"""The rule ``enc.branch_range``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Op
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_REACH = 1 << 15
"""A branch holds a signed 16-bit offset in dwords (AMD ISA guides, SOPP: S_BRANCH)."""


class BranchRange(Rule):
    """A branch target is too far away to be encoded.

    What it does:
        Adds up the least size that the instructions between a branch and its label can have, and reports the branch
        when even that is more than 32,767 dwords. A branch that is only too far with literal constants counted is
        left to the assembler.
    Why it matters:
        The file does not assemble, with a message that names neither the kernel nor the distance.
    Repair:
        Jump in two steps, or use s_getpc_b64, s_add_u32, s_addc_u32 and s_setpc_b64.
    Sources:
        AMD ISA guides, SOPP encoding: SIMM16 is a signed dword offset.
    """

    id = "enc.branch_range"
    title = "branch target is out of range"
    family = "isa"
    severity = "error"
    bad = (
        Example(
            "gfx1101",
            "kernel:\n  s_cbranch_scc0 .Lfar\n.rept 16400\n  v_add3_u32 v0, v0, v1, v2\n.endr\n.Lfar:\n  s_endpgm\n",
            line=2,
        ),
    )
    good = (
        Example(
            "gfx1101",
            "kernel:\n  s_cbranch_scc0 .Lnear\n.rept 16300\n  v_add3_u32 v0, v0, v1, v2\n.endr\n.Lnear:\n  s_endpgm\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Branches whose target is surely too far."""
        kernel = facts.kernel
        if len(kernel.instructions) < _REACH // 4:
            return
        for instruction, decoded in kernel.where(lambda decoded: decoded.operands, among=Op.BRANCH):
            target = kernel.labels.get(decoded.operands[-1].text)
            if target is None:
                continue
            distance = (kernel.offsets[target] - kernel.offsets[instruction.index + 1]) // 4
            if not -_REACH <= distance < _REACH:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=f"'{decoded.operands[-1].text}' is at least {abs(distance):,} dwords away in "
                    f"'{kernel.name}' ({len(kernel.instructions):,} instructions), a branch reaches 32,767",
                    repair="jump in two steps, or through s_setpc_b64",
                )
