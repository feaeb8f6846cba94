"""The rule ``kd.lds.under``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Op
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation


def _directive(size: int) -> str:
    return f"  .amdhsa_group_segment_fixed_size {size}\n"


def _metadata(size: int) -> str:
    return f"    .group_segment_fixed_size: {size}\n"


class LdsUnder(Rule):
    """LDS is accessed beyond what the descriptor allocates.

    What it does:
        Reports the first LDS access whose constant offset alone lies at or behind .amdhsa_group_segment_fixed_size,
        when that is not zero. It is an error when the metadata asks for more LDS than the descriptor, a warning
        otherwise: a launch may add dynamic LDS behind the static part.
    Why it matters:
        Reads beyond the allocation give zero and writes are dropped, or they hit the LDS of another work-group.
    Repair:
        Set .amdhsa_group_segment_fixed_size to the number of bytes that the work-group uses.
    Sources:
        AMDGPUUsage, ".amdhsa_group_segment_fixed_size"; AMD ISA guides, LDS ("out of range" accesses).
    """

    id = "kd.lds.under"
    title = "descriptor allocates less LDS than the code uses"
    family = "descriptor"
    severity = "warning"
    bad = (
        Example(
            "gfx1100",
            kernel_text("  ds_store_b32 v0, v0 offset:2048\n", _directive(1024), _metadata(4096)),
            line=3,
        ),
        Example("gfx900", kernel_text("  ds_read_b32 v1, v0 offset:1024\n", _directive(1024)), line=3),
    )
    good = (
        Example("gfx1100", kernel_text("  ds_store_b32 v0, v0 offset:2048\n", _directive(4096), _metadata(4096))),
        Example("gfx900", kernel_text("  ds_read_b32 v1, v0 offset:1024\n", _directive(0))),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first access whose offset is outside."""
        kernel, size = facts.kernel, facts.resources.lds_bytes
        if not size:
            return
        metadata = kernel.metadata.values.get(".group_segment_fixed_size") if kernel.metadata else None
        contradicts = isinstance(metadata, int) and metadata > size
        for instruction in kernel.instructions:
            decoded = instruction.decoded
            if decoded is None or not decoded.of(Op.DS) or decoded.of(Op.GDS):
                continue
            offset = _offset(decoded.modifiers.get("offset", ""))
            if offset is None or offset < size:
                continue
            also = f", while the metadata says {metadata}" if contradicts else ""
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"this access starts at byte {offset} of LDS or behind it, but the descriptor allocates {size} "
                f"bytes{also}",
                repair="raise .amdhsa_group_segment_fixed_size",
                severity="error" if contradicts else None,
            )
            return


def _offset(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
