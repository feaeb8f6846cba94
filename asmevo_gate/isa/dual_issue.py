"""The two instructions that one VOPD text holds."""

from __future__ import annotations

from asmevo_gate.isa.instruction import Decoded, Operand, Role

VOPD = "vopd"
"""The variant of texts that hold two instructions (AMD RDNA 3 ISA guide, "Dual Issue VALU")."""


def operands_by_half(decoded: Decoded) -> tuple[tuple[Operand, ...], ...]:
    """The operands of each instruction in a text: of both halves of a VOPD, else all of them. Each half begins with its
    result, and both read before either writes."""
    if decoded.variant == VOPD:
        results = [place for place, operand in enumerate(decoded.operands) if operand.role & Role.WRITE]
        if len(results) == 2:
            return decoded.operands[: results[1]], decoded.operands[results[1] :]
    return (decoded.operands,)
