"""Text -> statements: the entry of this package."""

from __future__ import annotations

import gc

from asmevo_gate.source.assembly import Assembly
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.statement import Source

_DEFAULTS = SourceOptions()


def parse_source(path: str, text: str, options: SourceOptions = _DEFAULTS) -> Source:
    """The statements of an assembly file as LLVM's assembler sees them, after macros and conditionals.

    ``path`` is relative to the repository root and names the file in places. What the assembler would reject, or
    what cannot be evaluated, is in ``Source.problems``; nothing is skipped silently.

    Raises:
        LimitError: the file passes one of ``options.limits``; the message names it.
    """
    collecting = gc.isenabled()
    gc.disable()  # a large file makes hundreds of thousands of objects and no cycles among them
    try:
        return Assembly(path, text, options).run()
    finally:
        if collecting:
            gc.enable()
