"""The rule ``enc.smem_align``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from asmevo_gate.analysis.known_state import address, immediate_offset
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_SMALL = r"_[ui](?:8|16)$"
_KERNARG = "kernarg segment address"


class SmemAlign(Rule):
    """A scalar load whose offset is not a multiple of four bytes.

    What it does:
        Reports scalar loads and stores of dwords with a constant offset that is not a multiple of 4: an error when the
        base is the kernel's argument pointer, which is aligned, and a warning for other bases.
    Why it matters:
        The hardware drops the two low bits of the address and loads the dword in front of the one that is meant.
    Repair:
        Load the whole dword and shift, or use s_load_u8 / s_load_u16 where the GPU has them.
    Sources:
        AMD ISA guides, "Scalar Memory Operations" (the two LSBs of the address are ignored); AMDGPUUsage, "Kernarg
        Segment" (alignment of at least 16 bytes).
    """

    id = "enc.smem_align"
    title = "scalar load is not aligned to a dword"
    family = "isa"
    severity = "warning"
    bad = (
        Example("gfx900", kernel_text("  s_load_dword s4, s[0:1], 0x6\n"), line=3),
        Example("gfx1100", kernel_text("  s_load_b64 s[4:5], s[8:9], 0x2\n"), line=3),
    )
    good = (
        Example("gfx900", kernel_text("  s_load_dword s4, s[0:1], 0x4\n")),
        Example("gfx1200", kernel_text("  s_load_u16 s4, s[0:1], 0x6\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each access with such an offset."""
        for instruction, decoded in facts.kernel.of(Op.SMEM):
            offset = _offset(decoded)
            if offset is None or offset % 4 == 0 or re.search(_SMALL, decoded.base):
                continue
            values = facts.known.get(instruction.index)
            at = address(decoded, values) if values is not None else None
            severity: Severity | None = "error" if at is not None and at[0] == _KERNARG else None
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"offset {offset} is no multiple of 4: the hardware accesses {offset - offset % 4} instead",
                repair="access the aligned dword and shift",
                severity=severity,
            )


def _offset(decoded: Decoded) -> int | None:
    """The constant part of the address: the last operand when it is a number, and the ``offset:`` modifier."""
    if not decoded.of(Op.LOAD | Op.STORE) or len(decoded.operands) < 2:
        return None
    last = decoded.operands[-1]
    number = last.value if not last.length and isinstance(last.value, int) else 0
    extra = immediate_offset(decoded)
    return None if extra is None else number + extra
