"""What the caller knows about a source file beyond its text, and how much of it may be expanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec


class SourceLimits(msgspec.Struct, frozen=True):
    """Bounds on one file; passing one raises :class:`asmevo_gate.errors.LimitError` that names it."""

    text_characters: int = 32 * 1024 * 1024
    """Characters of one file, and of all included files together."""
    statements: int = 500_000
    """Statements, and lines of expanded macros and repetitions; five times the largest public kernel."""
    expanded_characters: int = 128 * 1024 * 1024
    """Characters that macro expansion may write."""
    macro_depth: int = 20
    """Nested macro uses; LLVM's own default (``-asm-macro-max-nesting-depth``)."""
    buffer_depth: int = 200
    """Nested macros, repetitions and included files together."""
    line_characters: int = 256 * 1024
    """Characters of one statement."""
    expression_terms: int = 20_000
    """Operators and operands of one expression."""
    expression_depth: int = 200
    """Nested parentheses, unary operators and symbols that stand for expressions."""
    seconds: float = 60.0
    """Wall-clock time for one file."""
    problems: int = 1_000
    """Problems reported for one file; expansion stops there."""


class SourceOptions(msgspec.Struct, frozen=True):
    """How to evaluate a file.

    ``defines`` are the symbols of ``-D`` / ``-Wa,-defsym``. ``predefined`` are the symbols that the assembler defines
    for the target (``.amdgcn.gfx_generation_number`` ...). ``include_paths`` are directories searched after the
    directory of the including file, relative to ``root``. ``root`` is the repository root: nothing outside it is read;
    without it ``.include`` is not evaluated. ``read`` gives the text of a path relative to the root (``/`` separators)
    or ``None`` where there is no such file; without it files are read from the disk below ``root``.
    """

    defines: Mapping[str, int] = {}
    predefined: Mapping[str, int] = {}
    include_paths: tuple[str, ...] = ()
    root: str | None = None
    read: Callable[[str], str | None] | None = None
    limits: SourceLimits = SourceLimits()
