"""The expanded statements of a source as one assembly text without macros, for the assembler to judge."""

from __future__ import annotations

from asmevo_gate.source.assembly import RAW_BLOCKS
from asmevo_gate.source.statement import Source


def expanded_text(source: Source) -> str:
    """Every statement on its own line."""
    lines: list[str] = []
    for statement in source.statements:
        lines.append(statement.text)
        closing = RAW_BLOCKS.get(statement.name.lower())
        if closing:
            lines.append(statement.rest + closing)
    return "\n".join(lines) + "\n"
