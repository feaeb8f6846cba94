"""The rule ``abi.trap_registers``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.registers import SPECIAL, TTMP, bits, set_name
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_HANDLER = TTMP.mask | bits(SPECIAL["tba_lo"], 4)
_RETURNS = frozenset(("s_rfe_b64", "s_rfe_i64", "s_rfe_restore_b64"))
_HALTS = frozenset(("s_sethalt", "s_trap"))


class TrapRegisters(Rule):
    """A kernel writes registers of the trap handler.

    What it does:
        In a kernel (a function with a descriptor), warns of writes to TTMP, TBA and TMA and of s_rfe. Compilers use a
        TTMP register on their way to s_sethalt; a kernel that halts is not reported.
    Why it matters:
        Outside of a trap handler the hardware drops the write, so the value is not there later; and with debugger or
        profiler at work the registers change at any time. On GPUs that pass work-group ids in TTMP registers they are
        lost.
    Repair:
        Use ordinary SGPRs.
    Sources:
        AMD ISA guides, "Trap and Exception Registers" (writable in privileged mode); AMDGPUUsage, "Trap Handler ABI".
    """

    id = "abi.trap_registers"
    title = "kernel writes registers of the trap handler"
    family = "abi"
    severity = "warning"
    bad = (Example("gfx942", kernel_text("  s_mov_b32 ttmp4, 0\n", "  .amdhsa_accum_offset 8\n"), line=3),)
    good = (
        Example("gfx942", kernel_text("  s_mov_b32 s4, ttmp4\n", "  .amdhsa_accum_offset 8\n")),
        Example("gfx942", "handler:\n  s_mov_b32 ttmp4, 0\n  s_rfe_b64 ttmp[0:1]\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first write of each register."""
        kernel = facts.kernel
        touched = kernel.uses.writes & _HANDLER or not kernel.mnemonics.isdisjoint(_RETURNS)
        found = kernel.where(_is_for_handlers) if kernel.is_kernel and touched else []
        if not found or any(one.statement.name in _HALTS for one in kernel.instructions):
            return
        reported = 0
        for instruction, decoded in found:
            written = decoded.writes & ~decoded.implicit_writes & _HANDLER & ~reported
            if written:
                reported |= written
                message = f"{set_name(written)} belongs to the trap handler: a kernel's write is dropped or lost"
            elif decoded.base in _RETURNS:
                message = f"{decoded.base} returns from a trap handler, but this is a kernel"
            else:
                continue
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=message,
                repair="use ordinary SGPRs",
            )


def _is_for_handlers(decoded: Decoded) -> bool:
    """True for a named write of a register of the trap handler, and for the return from one."""
    return bool(decoded.writes & ~decoded.implicit_writes & _HANDLER) or decoded.base in _RETURNS
