"""The rule ``enc.vgpr_tuple_align``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asmevo_gate.isa.instruction import Decoded, Operand
from asmevo_gate.isa.registers import AGPR, SGPR, TTMP, VGPR, interval_name
from asmevo_gate.isa.targets import Target
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class TupleAlignment(Rule):
    """A register tuple that starts at a register where the GPU cannot address one.

    What it does:
        Reports VGPR and AGPR tuples that start at an odd register on GPUs with 64-bit register alignment, and SGPR
        tuples that do not start at a multiple of two (64 bits) or four (96 bits and more) on any GPU.
    Why it matters:
        The assembler rejects the file, with no more than "invalid operand for instruction". In kernels that compute
        register numbers from tuning parameters it only happens for some of them, on the user's machine.
    Repair:
        Start the tuple at the next even register (SGPRs: multiple of two or four).
    Sources:
        LLVM 22, AMDGPU register classes VReg_*_Align2 (FeatureRequiresAlignedVGPRs), SGPR_64 and SGPR_128.
    """

    id = "enc.vgpr_tuple_align"
    title = "register tuple is not aligned"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx90a", "kernel:\n  global_load_dwordx2 v[3:4], v0, s[0:1]\n  s_endpgm\n", line=2),
        Example("gfx900", "kernel:\n  s_load_dwordx4 s[6:9], s[0:1], 0x0\n  s_endpgm\n", line=2),
    )
    good = (
        Example("gfx90a", "kernel:\n  global_load_dwordx2 v[4:5], v0, s[0:1]\n  s_endpgm\n"),
        Example(
            "gfx900",
            "kernel:\n  global_load_dwordx2 v[3:4], v[1:2], off\n  s_load_dwordx2 s[6:7], s[0:1], 0x0\n  s_endpgm\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Operands whose first register is not a multiple of what their tuple needs."""
        target = facts.kernel.target
        if not any(_misplaced(operand, target) for operand in facts.kernel.operands):
            return
        for instruction, faults in facts.kernel.judged(lambda decoded: list(_faults(decoded, target))):
            for message, repair in faults:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=message,
                    repair=repair,
                )


def _faults(decoded: Decoded, target: Target) -> Iterator[tuple[str, str]]:
    """Message and repair for each tuple of an instruction that is not aligned."""
    for operand in decoded.operands:
        if _misplaced(operand, target):
            step, number = _alignment(operand, target)
            name = interval_name(operand.start, operand.length)
            below = interval_name(operand.start - number % step, operand.length)
            above = interval_name(operand.start + step - number % step, operand.length)
            yield (
                f"{name} starts at {number}, but on {target.name} a tuple of {32 * operand.length} bits must start "
                f"at a multiple of {step}",
                f"use {above}, or {below}",
            )


def _misplaced(operand: Operand, target: Target) -> bool:
    """True for a tuple that starts where none can."""
    if operand.length < 2:
        return False
    step, number = _alignment(operand, target)
    return bool(number % step)


def _alignment(operand: Operand, target: Target) -> tuple[int, int]:
    """The multiple that the tuple must start at, and the number of its first register."""
    for bank in (VGPR, AGPR):
        if bank.start <= operand.start < bank.start + bank.count:
            return (2 if target.facts["vgpr_align2"] else 1), operand.start - bank.start
    for bank in (SGPR, TTMP):
        if bank.start <= operand.start < bank.start + bank.count:
            return (4 if operand.length > 2 else 2), operand.start - bank.start
    return 1, 0
