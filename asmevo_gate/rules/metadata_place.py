"""Where a key of a kernel's metadata stands in the file."""

from __future__ import annotations

from asmevo_gate.program.metadata import KernelMetadata
from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.source.statement import Place


def metadata_place(facts: KernelFacts, metadata: KernelMetadata, *keys: str) -> Place:
    """The line of the first of the keys that has one; the kernel's entry in a code object, which has no lines."""
    line = next((metadata.lines[key] for key in keys if key in metadata.lines), None)
    if line is not None:
        return line_place(facts.program, line)
    entry = facts.kernel.entry
    return entry.place if entry is not None else Place(facts.program.path, 1, 1, 0, 0)


def line_place(program: Program, line: int) -> Place:
    """A whole line of the file."""
    text = program.source.text
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    end = text.find("\n", start)
    return Place(program.path, line, 1, start, end if end >= 0 else len(text))
