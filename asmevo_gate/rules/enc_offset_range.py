"""The rule ``enc.offset_range``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.offset_ranges import offset_range
from asmevo_gate.isa.targets import Target
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_MODIFIERS = ("offset", "offset0", "offset1")


def _body(line: str) -> str:
    return f"kernel:\n  {line}\n  s_endpgm\n"


class OffsetRange(Rule):
    """The immediate offset of a memory instruction does not fit its field.

    What it does:
        Compares offset:, offset0: and offset1: of buffer, flat, global, scratch and LDS instructions with what the
        encoding of the GPU holds.
    Why it matters:
        For flat, global, scratch and LDS instructions the assembler rejects the line. For buffer instructions before
        gfx12 it does not: LLVM 22 takes offset:4096 and encodes 0, so the kernel silently accesses another address.
    Repair:
        Put the part that does not fit into soffset, the address or the base.
    Sources:
        AMD ISA guides, microcode formats MUBUF, MTBUF, FLAT and DS; llvm-mc 22 -show-encoding.
    """

    id = "enc.offset_range"
    title = "immediate offset does not fit the encoding"
    family = "isa"
    severity = "error"
    bad = (
        Example("gfx942", _body("buffer_load_dword v0, v1, s[4:7], 0 offen offset:4096"), line=2),
        Example("gfx1030", _body("global_load_dword v0, v1, s[4:5] offset:2048"), line=2),
        Example("gfx1100", _body("flat_load_b32 v0, v[2:3] offset:-8"), line=2),
        Example("gfx900", _body("ds_read2_b32 v[0:1], v2 offset0:0 offset1:256"), line=2),
    )
    good = (
        Example("gfx942", _body("buffer_load_dword v0, v1, s[4:7], 0 offen offset:4095")),
        Example("gfx1200", _body("buffer_load_b32 v0, v1, s[4:7], s8 offen offset:4096")),
        Example("gfx1030", _body("global_load_dword v0, v1, s[4:5] offset:-2048")),
        Example("gfx900", _body("ds_read_b32 v0, v2 offset:65535")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each offset that does not fit."""
        target = facts.kernel.target
        for instruction, faults in facts.kernel.judged(lambda decoded: _faults(decoded, target), VMEM | Op.DS):
            for message in faults:
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=message,
                    repair="move the rest of the offset into soffset or the address",
                )


def _faults(decoded: Decoded, target: Target) -> list[str]:
    """What is wrong with each offset that does not fit."""
    faults: list[str] = []
    for modifier in _MODIFIERS if decoded.modifiers else ():
        text = decoded.modifiers.get(modifier)
        if not text:
            continue
        limits, value = offset_range(decoded, modifier, target), _number(text)
        if limits is None or value is None or limits[0] <= value <= limits[1]:
            continue
        lost = value & limits[1]
        silent = decoded.of(Op.BUFFER) and 0 <= value < 1 << 16 and limits[1] < 1 << 16
        effect = f": assemblers encode {lost} without a word" if silent else ""
        faults.append(f"{modifier} {value} is outside of {limits[0]} to {limits[1]} on {target.name}{effect}")
    return faults


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
