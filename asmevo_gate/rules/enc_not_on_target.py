"""The rule ``enc.not_on_target``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class NotOnTarget(Rule):
    """An instruction that the GPU of the kernel does not have.

    What it does:
        Reports an instruction, or a form of it, that exists on other GPUs but not on the one that the file is for.
    Why it matters:
        The file does not assemble, or, built at run time on the user's machine, fails there and not in review.
    Repair:
        Use the instruction that this GPU has for the same computation, or restrict the kernel to the GPUs that the
        finding names.
    Sources:
        LLVM 22 instruction descriptions (subtarget predicates), extracted per GPU into the ISA table.
    """

    id = "enc.not_on_target"
    title = "instruction does not exist on this GPU"
    family = "isa"
    severity = "error"
    bad = (
        Example(
            "gfx942",
            """\
kernel:
  v_add_f32 v0, v1, v2
  v_mac_f32 v0, v1, v2
  s_endpgm
""",
            line=3,
        ),
        Example("gfx1030", "kernel:\n  v_fma_f32 v0, v1, v2, v3\n  s_wait_loadcnt 0x0\n  s_endpgm\n", line=3),
        Example("gfx1100", "kernel:\n  v_mov_b32_sdwa v0, v1 dst_sel:BYTE_0 src0_sel:WORD_1\n  s_endpgm\n", line=2),
    )
    good = (
        Example("gfx942", "kernel:\n  v_add_f32 v0, v1, v2\n  v_fmac_f32 v0, v1, v2\n  s_endpgm\n"),
        Example("gfx1200", "kernel:\n  v_fma_f32 v0, v1, v2, v3\n  s_wait_loadcnt 0x0\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Instructions whose mnemonic or form the target's table lacks while another target has it."""
        for instruction in facts.kernel.not_understood:
            unknown = instruction.unknown
            if unknown is None or unknown.kind != "not_on_target":
                continue
            has_it = ", ".join(unknown.available_on) or "no GPU that the gate knows"
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=f"{unknown.reason}; GPUs that have it: {has_it}",
                repair="use an equal instruction of this GPU, or keep the kernel off it",
                context=instruction.statement.text,
            )
