"""The rule ``kd.kernarg.under``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.known_state import address
from asmevo_gate.isa.instruction import Op
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_KERNARG = "kernarg segment address"


def _load(offset: int, mnemonic: str = "s_load_dwordx2", wait: str = "s_waitcnt lgkmcnt(0)") -> str:
    return f"  {mnemonic} s[4:5], s[0:1], {offset:#x}\n  {wait}\n  s_add_u32 s6, s4, s5\n  s_mov_b32 m0, s6\n"


class KernargUnder(Rule):
    """The code loads kernel arguments from beyond the kernarg segment.

    What it does:
        Follows the kernarg segment address from the SGPRs that the descriptor gives it to scalar loads with constant
        offsets, and reports a dword that begins at or behind the end of the segment (.amdhsa_kernarg_size, or
        .kernarg_segment_size of the metadata) and is used afterwards. Dwords that a wide load brings along and
        nothing uses are normal.
    Why it matters:
        The runtime allocates and fills only the bytes that are stated. The kernel takes what lies behind them for an
        argument: a wrong size, or an address that faults.
    Repair:
        Raise the size of the segment in descriptor and metadata, or correct the offset.
    Sources:
        AMDGPUUsage, "Kernarg Segment" and ".amdhsa_kernarg_size".
    """

    id = "kd.kernarg.under"
    title = "code loads arguments from beyond the kernarg segment"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx900", kernel_text(_load(20), "  .amdhsa_kernarg_size 24\n"), line=3),
        Example(
            "gfx1200",
            kernel_text(_load(16, "s_load_b64", "s_wait_kmcnt 0x0"), metadata="    .kernarg_segment_size: 16\n"),
            line=3,
        ),
    )
    good = (
        Example("gfx900", kernel_text(_load(16), "  .amdhsa_kernarg_size 24\n")),
        Example("gfx900", kernel_text("  s_load_dwordx4 s[4:7], s[0:1], 0x0\n", "  .amdhsa_kernarg_size 12\n")),
        Example("gfx900", kernel_text(_load(64))),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Loads of which a dword that is used lies outside."""
        size = _segment_size(facts)
        if not size:
            return
        kernel = facts.kernel
        for index, values in facts.known.items():
            instruction = kernel.instructions[index]
            decoded = instruction.decoded
            if decoded is None or not decoded.of(Op.SMEM) or not decoded.of(Op.LOAD):
                continue
            at = address(decoded, values)
            if at is None or at[0] != _KERNARG:
                continue
            destination = decoded.operands[0]
            used = [
                at[1] + 4 * part
                for part in range(destination.length)
                if at[1] + 4 * part >= size and facts.liveness.after[index] >> (destination.start + part) & 1
            ]
            if used:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=f"byte {used[0]} of the kernel arguments is loaded and used, but the kernarg segment has "
                    f"{size} bytes",
                    repair=f"make the segment at least {used[-1] + 4} bytes (.amdhsa_kernarg_size and "
                    ".kernarg_segment_size), or correct the offset",
                )


def _segment_size(facts: KernelFacts) -> int:
    """The larger of what descriptor and metadata state; 0 when neither does."""
    descriptor, metadata = facts.kernel.descriptor, facts.kernel.metadata
    declared = descriptor.values.get("kernarg_size", 0) if descriptor else 0
    stated = metadata.values.get(".kernarg_segment_size") if metadata else None
    return max(declared, stated if isinstance(stated, int) else 0)
