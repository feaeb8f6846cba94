"""The assembler of this machine for one GPU, found while the first file is assembled.

A clang gets the file without being asked first which processors it knows: it makes no object for one that it does not
know, so that an object answers both questions with one process. Only without an object it is asked, and the next
assembler gets the file where it does not serve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.verify.assembler import (
    ASSEMBLERS,
    Assembled,
    AssemblyResult,
    assemble,
    no_assembler,
    why_not,
)
from asmevo_gate.verify.discovery import Candidate, Rejected, Tool, find_candidates


class AssemblerAtHand:
    """The first assembler that knows a processor: the one of :func:`find_assembler`, which asks each before it is used.

    ``target`` is any target of that processor; ``option`` is as in :func:`find_tools`.
    """

    def __init__(self, target: Target, option: str | None = None) -> None:
        self._target = target
        self._left = find_candidates(ASSEMBLERS, option)
        self._candidate: Candidate | None = next(self._left, None)
        self._tool: Tool | None = None
        self._tried: list[str] = []

    def assemble(
        self,
        text: str,
        target: Target,
        wave_size: int | None = None,
        symbols: Mapping[str, int] | None = None,
        include_directories: Sequence[Path] = (),
    ) -> AssemblyResult:
        """Assemble the text of a file; the arguments are those of :func:`assembler.assemble`.

        The tool of an object may be one that was not asked for its version; what is no object names a tool that was.
        """
        while self._candidate is not None:
            candidate = self._candidate
            if self._tool is None and candidate.kind != "clang":  # llvm-mc assembles for any processor
                self._ask(candidate)
                continue
            tool = self._tool or candidate.trusted()
            result = assemble(text, target, tool, wave_size, symbols, include_directories)
            if self._tool is not None or isinstance(result, Assembled):
                return result
            self._ask(candidate)
            if self._tool is not None:
                return msgspec.structs.replace(result, tool=self._tool)
        return no_assembler(self._target, self._tried)

    def _ask(self, candidate: Candidate) -> None:
        """Ask the tool what it knows; go on to the next one where that is not enough."""
        found = candidate.asked()
        if isinstance(found, Rejected) or not found.knows(self._target.name):
            self._tried.append(why_not(found, self._target))
            self._candidate = next(self._left, None)
        else:
            self._tool = found
