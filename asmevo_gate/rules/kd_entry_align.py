"""The rule ``kd.entry_align``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import FileFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.source.statement import Kind, Place, Statement

_ENTRY = 256
"""Bytes: the hardware takes bits 47:8 of the entry address (COMPUTE_PGM_LO)."""


class EntryAlign(Rule):
    """A kernel does not start at a multiple of 256 bytes.

    What it does:
        Warns of a kernel with a descriptor in front of whose label nothing aligns the code to 256 bytes (.p2align 8,
        .align 256 or .balign 256, with no code in between).
    Why it matters:
        The hardware drops the low eight bits of the entry address: a kernel that is not aligned starts somewhere in
        front of its first instruction. Without the directive it works only as long as the linker happens to put it
        there.
    Repair:
        Write .p2align 8 in front of the kernel's label.
    Sources:
        AMDGPUUsage, kernel descriptor KERNEL_CODE_ENTRY_BYTE_OFFSET ("The entry point must be 256 byte aligned").
    """

    id = "kd.entry_align"
    title = "kernel entry is not aligned to 256 bytes"
    family = "descriptor"
    severity = "warning"
    bad = (
        Example("gfx900", kernel_text("  s_nop 0\n"), line=2),
        Example(
            "gfx1100",
            kernel_text("  s_nop 0\n").replace("kernel:\n", ".p2align 8\nother:\n  s_endpgm\nkernel:\n", 1),
            line=5,
        ),
    )
    good = (Example("gfx900", kernel_text("  s_nop 0\n").replace("kernel:\n", ".p2align 8\nkernel:\n", 1)),)

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """Entries without an alignment in front."""
        entries = {
            one.kernel.entry.place: one.kernel.entry
            for one in facts.kernels
            if one.kernel.descriptor is not None and one.kernel.entry is not None
        }
        for entry in _not_aligned(facts.program, entries):
            yield Violation(
                place=entry.place,
                frames=entry.frames,
                message=f"nothing aligns the entry of '{entry.name}' to {_ENTRY} bytes",
                repair="write .p2align 8 in front of the label",
            )


def _not_aligned(program: Program, entries: dict[Place, Statement]) -> Iterable[Statement]:
    aligned: dict[str, bool] = {}
    source = program.source
    end = 0
    for place in source.places_besides_instructions:
        if place > end:  # instructions
            aligned[source.statements[end].section] = False
        end = place + 1
        statement = source.statements[place]
        if statement.kind is Kind.DATA:
            aligned[statement.section] = False
        elif statement.kind is Kind.DIRECTIVE and statement.name in _DIRECTIVES:
            if _bytes(statement) >= _ENTRY:
                aligned[statement.section] = True
        elif statement.kind is Kind.LABEL and statement.place in entries and not aligned.get(statement.section):
            yield statement


_DIRECTIVES = frozenset((".p2align", ".align", ".balign", ".p2alignl", ".p2alignw"))


def _bytes(statement: Statement) -> int:
    """The alignment in bytes; that of an entry when it cannot be evaluated."""
    text = statement.rest.split(",")[0].strip()
    try:
        number = int(text, 0)
    except ValueError:
        return _ENTRY
    if number < 0:  # no alignment, and no assembler takes it
        return 0
    return 1 << min(number, 32) if statement.name.startswith(".p2align") else number
