"""``.amdgcn.next_free_vgpr`` and ``.amdgcn.next_free_sgpr``: one more than the highest register named so far."""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmevo_gate.source.statement import Kind, Statement
from asmevo_gate.source.symbols import NEXT_FREE_SGPR, NEXT_FREE_VGPR, SymbolTable

_REGISTER = re.compile(r"(?<![\w.$@])([vs])(?:([0-9]{1,9})|\[([0-9]{1,9})(?::([0-9]{1,9}))?\])(?![\w$@])")
_SYMBOLS = {"v": NEXT_FREE_VGPR, "s": NEXT_FREE_SGPR}


class RegistersSeen:
    """Follows the instructions of an assembly, when asked (``AMDGPUAsmParser::updateGprCountSymbols``)."""

    def __init__(self, statements: Sequence[Statement], symbols: SymbolTable) -> None:
        self._statements = statements
        self._symbols = symbols
        self._scanned = 0

    def update(self) -> None:
        """Raise the two symbols to what the statements so far need."""
        for statement in self._statements[self._scanned :]:
            if statement.kind is not Kind.INSTRUCTION:
                continue
            for prefix, number, first, last in _REGISTER.findall(statement.rest):
                need = int(last or first or number) + 1
                name = _SYMBOLS[prefix]
                if need > self._symbols.values.get(name, 0):
                    self._symbols.set_value(name, need)
        self._scanned = len(self._statements)
