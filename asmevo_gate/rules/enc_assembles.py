"""The documentation of ``enc.assembles``, which :mod:`asmevo_gate.gate.compile_check` reports."""

from __future__ import annotations

from asmevo_gate.rules.rule import Example, Rule


def _text(line: str) -> str:
    return f'.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\nkernel:\n  {line}\n  s_endpgm\n'


class Assembles(Rule):
    """The assembler at hand rejects a line.

    What it does:
        Assembles each source file with the LLVM assembler that is found (`asmevo-gate doctor` shows which) and reports
        its errors at their lines, with the reason in plain words where the message is known to be terse. A line that
        another rule has reported as an error is not reported again. It is a warning when the file is written for a
        newer assembler than the one at hand.
    Why it matters:
        The kernel cannot be built. Kernels that are assembled at run time fail on the user's machine, not in review.
    Repair:
        See the message; where the instruction exists on other GPUs the finding names them.
    Sources:
        The assembler itself: llvm-mc or clang of ROCm or LLVM.
    """

    id = "enc.assembles"
    title = "assembler rejects the line"
    family = "isa"
    severity = "error"
    made_by_gate = True
    bad = (Example("gfx90a", _text("s_mov_b32 s4, 0x123456789"), line=4),)
    good = (Example("gfx90a", _text("s_mov_b32 s4, 0x12345678")),)
