"""What one assembly knows while it reads: open texts, symbols, sections, conditionals, statements, problems."""

from __future__ import annotations

import time

from asmevo_gate.errors import LimitError
from asmevo_gate.source.buffers import Buffer, FileBuffer
from asmevo_gate.source.conditionals import ConditionalStack
from asmevo_gate.source.includes import IncludeReader
from asmevo_gate.source.lines import Cut, cut
from asmevo_gate.source.macros import Body
from asmevo_gate.source.operands import OperandEvaluator
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.registers_seen import RegistersSeen
from asmevo_gate.source.sections import SectionStack
from asmevo_gate.source.statement import Frame, Kind, Place, SourceProblem, Statement
from asmevo_gate.source.symbols import NEXT_FREE_SGPR, NEXT_FREE_VGPR, SymbolTable


class AssemblyState:
    """State and the operations on it that every group of directives needs."""

    def __init__(self, path: str, text: str, options: SourceOptions) -> None:
        self._path = path
        self._text = text
        self._options = options
        self._limits = options.limits
        self._deadline = time.monotonic() + options.limits.seconds
        self._statements: list[Statement] = []
        self._problems: list[SourceProblem] = []
        self._seen_problems: set[tuple[str, Place]] = set()
        self._files: dict[str, str] = {}
        self._symbols = SymbolTable(
            options.limits, {NEXT_FREE_VGPR: 0, NEXT_FREE_SGPR: 0, **options.predefined, **options.defines}
        )
        self._operands = OperandEvaluator(self._symbols, options.limits)
        self._registers = RegistersSeen(self._statements, self._symbols)
        self._includes = IncludeReader(options)
        self._sections = SectionStack()
        self._conditionals = ConditionalStack()
        self._lines = 0
        self._characters = 0
        self._buffers: list[Buffer] = []
        self._memo: dict[str, Cut] = {}
        self._evaluate_always = bool(options.defines)
        """False while no symbol can stand in an operand."""
        self._late: list[int] = []
        """Statements that may use symbols defined further down."""

    def _cut(self, line: str) -> Cut:
        """One logical line in pieces; remembered."""
        if len(line) > self._limits.line_characters:
            raise self._limit(f"a line has more than {self._limits.line_characters} characters (limit line_characters)")
        if len(self._memo) > 100_000:
            self._memo.clear()
        known = self._memo[line] = cut(line)
        return known

    def _refill(self, buffer: Buffer) -> bool:
        if time.monotonic() > self._deadline:
            raise self._limit(f"reading the file takes more than {self._limits.seconds:g} s (limit seconds)")
        if not buffer.refill():
            return False
        self._count(len(buffer.lines), sum(map(len, buffer.lines)))
        return True

    def _count(self, lines: int, characters: int) -> None:
        self._lines += lines
        if self._lines > self._limits.statements:
            raise self._limit(f"the file expands to more than {self._limits.statements} lines (limit statements)")
        self._characters += characters
        if self._characters > self._limits.expanded_characters:
            raise self._limit(
                f"the file expands to more than {self._limits.expanded_characters} characters"
                " (limit expanded_characters)"
            )

    def _limit(self, message: str) -> LimitError:
        line: int | None = None
        if self._buffers:
            top = self._buffers[-1]
            frames = top.frames
            line = frames[0].place.line if frames else None
            if line is None and top.next and isinstance(top, FileBuffer):
                line = top.numbers[top.next - 1]
        return LimitError(
            message,
            "split the file: no kernel needs so much, and the limits keep a hostile file from taking the machine",
            self._path,
            line,
        )

    def _push(self, buffer: Buffer) -> None:
        if len(self._buffers) >= self._limits.buffer_depth:
            raise self._limit(
                f"macros, repetitions and included files are nested more than {self._limits.buffer_depth} levels deep"
                " (limit buffer_depth)"
            )
        self._buffers.append(buffer)

    def _emit(self, kind: Kind, name: str, rest: str, text: str, place: Place, buffer: Buffer) -> None:
        self._statements.append(Statement(kind, name, rest, text, place, buffer.frames, self._sections.current))

    def _problem(self, severity: str, message: str, repair: str, place: Place, frames: tuple[Frame, ...]) -> None:
        if (message, place) in self._seen_problems:
            return
        self._seen_problems.add((message, place))
        if len(self._problems) >= self._limits.problems:
            raise self._limit(f"more than {self._limits.problems} problems in one file (limit problems)")
        self._problems.append(SourceProblem(severity, message, repair, place, frames))

    def _value(self, text: str) -> int:
        if "next_free" in text:
            self._registers.update()
        return self._symbols.evaluate(text)

    def _evaluate_operands(self, rest: str, computed: bool) -> str:
        if "next_free" in rest:
            self._registers.update()
        return self._operands.evaluate(rest, computed)

    def _capture(
        self, buffer: Buffer, place: Place, openings: frozenset[str], endings: frozenset[str], directive: str
    ) -> Body | None:
        """The lines from here to the matching end, which is consumed."""
        first = buffer.next
        depth = 0
        for index in range(first, len(buffer.lines)):
            line = buffer.lines[index]
            if "." not in line:
                continue
            pieces, _ = self._memo.get(line) or self._cut(line)
            if not pieces:
                continue
            name = pieces[0][1]
            if name in endings:
                if depth == 0:
                    buffer.next = index + 1
                    return Body(tuple(buffer.lines[first:index]), buffer.places(first))
                depth -= 1
            elif name in openings:
                depth += 1
        buffer.next = len(buffer.lines)
        ending = min(endings, key=len)
        self._problem("error", f"'{directive}' without '{ending}'", f"end it with {ending}", place, buffer.frames)
        return None
