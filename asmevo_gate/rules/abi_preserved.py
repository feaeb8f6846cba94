"""The rule ``abi.preserved``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.calling_convention import clobbers, returns_with_lanes_off
from asmevo_gate.isa.registers import set_name
from asmevo_gate.program.jump_targets import RETURN_ADDRESS
from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


def _function(body: str, visible: bool = True) -> str:
    return (".globl f\n" if visible else "") + f".type f,@function\nf:\n{body}  s_setpc_b64 s[30:31]\n"


_CALL = "  s_swappc_b64 s[30:31], s[4:5]\n"


class Preserved(Rule):
    """A device function changes registers that its caller keeps values in.

    What it does:
        In functions that return (s_setpc_b64 s[30:31]), reports the first write of a register that the calling
        convention preserves when nothing can have saved it before; a return that is reached with lanes switched off;
        and a call that overwrites the return address. Registers are checked in functions that the file makes visible
        (.globl): callers of local ones may know what they use. The return address and EXEC are checked in all.
    Why it matters:
        The caller goes on with a value that the function has overwritten, or the function returns into itself and never
        ends.
    Repair:
        Save the register (scratch, v_writelane) at the entry and restore it before the return, or use one of v0 to
        v39 and s0 to s29.
    Sources:
        AMDGPUUsage, "Non-Kernel Functions" (preserved registers); LLVM AMDGPUCallingConv.td (CSR_AMDGPU).
    """

    id = "abi.preserved"
    title = "function changes a preserved register"
    family = "abi"
    severity = "error"
    bad = (
        Example("gfx90a", _function("  v_mov_b32 v40, 0\n"), line=4),
        Example("gfx1100", _function("  s_mov_b32 s34, 0\n"), line=4),
        Example("gfx942", _function(_CALL, visible=False), line=3),
        Example("gfx900", _function("  v_cmp_gt_u32 vcc, 9, v0\n  s_and_b64 exec, exec, vcc\n"), line=6),
    )
    good = (
        Example("gfx90a", _function("  v_mov_b32 v39, 0\n  v_mov_b32 v48, 0\n")),
        Example("gfx1100", _function("  s_mov_b32 s4, s34\n  s_mov_b32 s34, 0\n  s_mov_b32 s34, s4\n")),
        Example("gfx942", _function("  s_mov_b64 s[34:35], 0\n", visible=False)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Lost registers, then lanes."""
        function = facts.kernel
        if function.is_kernel:
            return
        kept = ~0 if _is_visible(facts.program, function.name) else RETURN_ADDRESS
        for clobber in clobbers(function):
            lost = clobber.registers & kept
            if not lost:
                continue
            what = "the return address" if lost & RETURN_ADDRESS else "a register that the caller keeps values in"
            yield Violation(
                place=clobber.instruction.statement.place,
                frames=clobber.instruction.statement.frames,
                message=f"{set_name(lost)} is overwritten and was not saved before: it is {what}",
                repair="save it at the entry and restore it before the return",
            )
        for leaving, narrowing in returns_with_lanes_off(function):
            yield Violation(
                place=leaving.statement.place,
                frames=leaving.statement.frames,
                message=f"the function returns with the lanes off that line {narrowing.statement.outer_place.line} "
                "switched off",
                repair="restore EXEC before the return",
                producer=narrowing,
            )


def _is_visible(program: Program, name: str) -> bool:
    """Other files can call it."""
    return any(
        one.name in (".globl", ".global", ".weak") and name in one.rest.replace(",", " ").split()
        for one in program.source.besides_instructions
    )
