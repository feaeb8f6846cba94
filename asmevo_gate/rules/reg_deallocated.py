"""The rule ``reg.deallocated``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.encoded_operands import is_message
from asmevo_gate.isa.registers import VGPR, set_name
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_FREES = "MSG_DEALLOC_VGPRS"
_MESSAGE = frozenset(("s_sendmsg",))
_FREE = "  s_nop 0\n  s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n"
_STORE = "  global_store_b32 v[0:1], v2, off\n"


class Deallocated(Rule):
    """A VGPR is used after the wave has given its VGPRs back.

    What it does:
        Reports the first instruction on each path that reads or writes a VGPR behind s_sendmsg MSG_DEALLOC_VGPRS.
    Why it matters:
        The registers belong to another wave by then: the instruction reads or destroys its values.
    Repair:
        Send the message directly before s_endpgm.
    Sources:
        AMD RDNA 3 ISA guide, S_SENDMSG (DEALLOC_VGPRS: the wave must not use VGPRs afterwards); LLVM SIInsertWaitcnts
        (release of VGPRs).
    """

    id = "reg.deallocated"
    title = "VGPR is used after it was given back"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx1100", "k:\n" + _FREE + _STORE + "  s_endpgm\n", line=4),
        Example("gfx1200", "k:\n" + _FREE + "  s_branch .Lend\n.Lend:\n" + _STORE + "  s_endpgm\n", line=6),
        Example("gfx1250", "k:\n" + _FREE + "  v_mov_b32 v0, 0\n  s_endpgm\n", line=4),
        Example("gfx1200", "k:\n  s_nop 0\n  s_sendmsg 3\n" + _STORE + "  s_endpgm\n", line=4),
    )
    good = (
        Example("gfx1100", "k:\n" + _STORE + _FREE + "  s_endpgm\n"),
        Example("gfx1200", "k:\n  s_nop 0\n  s_sendmsg sendmsg(MSG_INTERRUPT)\n" + _STORE + "  s_endpgm\n"),
        Example("gfx1250", "k:\n" + _STORE + _FREE + "  s_endpgm\n"),
        Example("gfx900", "k:\n  s_nop 0\n  s_sendmsg 3\n  v_mov_b32 v0, 0\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Uses behind each message, once each."""
        kernel = facts.kernel
        reported: set[int] = set()
        messages = [
            one
            for one, decoded in kernel.named(_MESSAGE)
            if decoded.operands and is_message(decoded.operands[0].text, _FREES, kernel.target)
        ]
        for message in messages:
            for used, registers in _first_uses(kernel, message):
                if used.index in reported:
                    continue
                reported.add(used.index)
                yield Violation(
                    place=used.statement.place,
                    frames=used.statement.frames,
                    message=f"{set_name(registers)} is used, but line {message.statement.outer_place.line} has given "
                    "the VGPRs of the wave back",
                    repair="send the message directly before s_endpgm",
                    producer=message,
                )


def _first_uses(kernel: Function, message: Instruction) -> Iterable[tuple[Instruction, int]]:
    """The first use of a VGPR on each path behind an instruction."""
    home = kernel.block_of(message.index)
    pending = [(home.number, message.index + 1)]
    seen: set[int] = set()
    while pending:
        number, first = pending.pop()
        block = kernel.blocks[number]
        for instruction in kernel.instructions[first : block.end]:
            decoded = instruction.decoded
            if decoded is None:
                break
            registers = (decoded.reads | decoded.writes) & VGPR.mask
            if registers:
                yield instruction, registers
                break
        else:
            for successor in (*block.successors, *block.entries):
                if successor not in seen:
                    seen.add(successor)
                    pending.append((successor, kernel.blocks[successor].first))
