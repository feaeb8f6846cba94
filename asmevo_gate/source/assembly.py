"""Reading one file as the assembler does: macros, conditionals, symbols, sections -> statements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import repeat

from asmevo_gate.errors import LimitError
from asmevo_gate.source import conditionals
from asmevo_gate.source.buffers import BodyBuffer, Buffer, FileBuffer
from asmevo_gate.source.conditionals import ConditionalStack
from asmevo_gate.source.expressions import ExpressionError, UnresolvedError
from asmevo_gate.source.includes import IncludeReader, IncludeRefusedError
from asmevo_gate.source.lines import Form, Piece, blank_comments, logical_lines, pieces_of, unterminated
from asmevo_gate.source.macro_arguments import Argument, MacroError, parse_arguments
from asmevo_gate.source.macros import Body, Macro, compile_body, fill, parse_definition
from asmevo_gate.source.operands import OperandEvaluator
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.registers_seen import RegistersSeen
from asmevo_gate.source.sections import DATA_DIRECTIVES, SectionStack
from asmevo_gate.source.sections import DIRECTIVES as SECTION_DIRECTIVES
from asmevo_gate.source.statement import Frame, Kind, Place, Source, SourceProblem, Statement
from asmevo_gate.source.symbols import NEXT_FREE_SGPR, NEXT_FREE_VGPR, SymbolTable, predefined_symbols

RAW_BLOCKS = {
    ".amdgpu_metadata": ".end_amdgpu_metadata",
    ".amdgpu_pal_metadata": ".end_amdgpu_pal_metadata",
    ".amd_amdgpu_hsa_metadata": ".end_amd_amdgpu_hsa_metadata",
    ".amd_amdgpu_pal_metadata": ".end_amd_amdgpu_pal_metadata",
    ".amd_kernel_code_t": ".end_amd_kernel_code_t",
}
"""Directives whose block is kept as one statement: opening -> closing."""

_REPEAT_OPENINGS = frozenset({".rep", ".rept", ".irp", ".irpc"})
_SILENT = frozenset({".print", ".warning", ".macros_on", ".macros_off"})


class Assembly:
    """The state of one run over one file."""

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
        self._macros: dict[str, Macro] = {}
        self._altmacro = False
        self._uses = 0
        self._lines = 0
        self._characters = 0
        self._buffers: list[Buffer] = []
        self._memo: dict[str, tuple[Piece, ...]] = {}
        self._evaluate_always = bool(options.defines)
        """False while no symbol can stand in an operand."""
        self._late: list[int] = []
        """Statements that may use symbols defined further down."""
        self._directives: dict[str, Callable[[str, Place, Buffer], None]] = {
            ".set": self._assign_by_directive,
            ".equ": self._assign_by_directive,
            ".equiv": self._assign_once,
            ".macro": self._define_macro,
            ".purgem": self._purge_macro,
            ".exitm": self._exit_macro,
            ".altmacro": self._switch_altmacro_on,
            ".noaltmacro": self._switch_altmacro_off,
            ".rept": self._repeat,
            ".rep": self._repeat,
            ".irp": self._repeat_over_arguments,
            ".irpc": self._repeat_over_characters,
            ".include": self._include,
            ".end": self._end,
            ".error": self._report_error,
            ".err": self._report_error,
            ".abort": self._report_error,
            ".endm": self._unexpected,
            ".endmacro": self._unexpected,
            ".endr": self._unexpected,
        }

    def run(self) -> Source:
        """All statements of the file.

        Raises:
            LimitError: a limit of the options is passed.
        """
        try:
            self._open_file(self._path, self._text, ())
            while self._buffers:
                buffer = self._buffers[-1]
                if buffer.next < len(buffer.lines):
                    self._read(buffer)
                elif not self._refill(buffer):
                    self._buffers.pop()
        except LimitError as error:
            if error.file is not None:
                raise
            raise self._limit(error.message) from error
        self._finish()
        self._directives.clear()
        self._memo.clear()
        return Source(
            self._path,
            self._text,
            tuple(self._statements),
            tuple(self._problems),
            self._symbols.final_values(),
            self._files,
        )

    # Reading lines

    def _read(self, buffer: Buffer) -> None:
        """Lines of one buffer until it ends or another one is on top."""
        lines = buffer.lines
        end = len(lines)
        index = buffer.next
        memo = self._memo
        macros = self._macros
        append = self._statements.append
        frames = buffer.frames
        file = buffer if isinstance(buffer, FileBuffer) else None
        path = file.path if file else ""
        instruction, label = Form.INSTRUCTION, Form.LABEL
        kind = Kind.INSTRUCTION
        section = self._sections.current
        ignore = self._conditionals.ignore
        evaluate_always = self._evaluate_always
        while index < end:
            line = lines[index]
            pieces = memo.get(line)
            if pieces is None:
                pieces = self._cut(line)
            index += 1
            for number, (form, name, rest, text, start, stop, computed) in enumerate(pieces):
                if ignore and (form is not Form.DIRECTIVE or name.lower() not in conditionals.DIRECTIVES):
                    break
                if file is None:
                    place = buffer.place(index - 1, number)
                elif "\n" in line:
                    place = file.place(index - 1, number)
                else:
                    offset = file.offsets[index - 1]
                    place = Place(path, file.numbers[index - 1], start + 1, offset + start, offset + stop)
                if form is instruction and not ignore and name not in macros:
                    if computed or evaluate_always:
                        evaluated = self._evaluate_operands(rest, computed)
                        if evaluated is not rest:
                            rest = evaluated
                            text = f"{name} {rest}"
                    append(Statement(kind, name, rest, text, place, frames, section))
                    continue
                buffer.next = index
                if form is label:
                    self._label(name, text, place, frames)
                    continue
                self._statement((form, name, rest, text, start, stop, computed), place, buffer)
                if not self._buffers or self._buffers[-1] is not buffer:
                    return
                index = buffer.next
                ignore = self._conditionals.ignore
                section = self._sections.current
                evaluate_always = self._evaluate_always
        buffer.next = index

    def _cut(self, line: str) -> tuple[Piece, ...]:
        if len(line) > self._limits.line_characters:
            raise self._limit(f"a line has more than {self._limits.line_characters} characters (limit line_characters)")
        if len(self._memo) > 100_000:
            self._memo.clear()
        pieces = self._memo[line] = pieces_of(line)
        return pieces

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
        return LimitError(message, "raise the limit in the configuration if the file is right", self._path, line)

    # Statements

    def _statement(self, piece: Piece, place: Place, buffer: Buffer) -> None:
        form, name, rest, text, _, _, computed = piece
        lower = name.lower()
        if form is Form.DIRECTIVE and lower in conditionals.DIRECTIVES:
            self._conditional(lower, rest, place, buffer)
        elif form is Form.MALFORMED:
            self._problem("error", f"a statement cannot start with '{text[:40]}'", "", place, buffer.frames)
        elif form is Form.ASSIGNMENT:
            self._assign(name, rest, place, buffer)
            self._emit(Kind.ASSIGNMENT, name, rest, text, place, buffer)
        elif name in self._macros:
            self._use_macro(self._macros[name], rest, place, buffer)
        elif form is Form.INSTRUCTION:
            evaluated = self._evaluate_operands(rest, computed)
            self._emit(Kind.INSTRUCTION, name, evaluated, f"{name} {evaluated}".rstrip(), place, buffer)
        elif lower in self._directives:
            self._directives[lower](rest, place, buffer)
        elif lower in RAW_BLOCKS:
            self._raw_block(name, text, place, buffer)
        elif lower in SECTION_DIRECTIVES:
            if not self._sections.apply(lower, rest):
                self._problem("error", f"'{text[:60]}' names no section to go to", "", place, buffer.frames)
            self._emit(Kind.DIRECTIVE, name, rest, text, place, buffer)
        elif lower not in _SILENT:
            self._plain_directive(name, lower, rest, text, computed, place, buffer)

    def _plain_directive(
        self, name: str, lower: str, rest: str, text: str, computed: bool, place: Place, buffer: Buffer
    ) -> None:
        is_data = lower in DATA_DIRECTIVES
        if is_data or (lower.startswith(".amdhsa_") and lower != ".amdhsa_kernel"):
            evaluated = rest if '"' in rest else self._evaluate_operands(rest, computed)
            if evaluated != rest:
                rest, text = evaluated, f"{name} {evaluated}"
            if not rest.isdigit():
                self._late.append(len(self._statements))
        elif lower == ".amdgcn_target" and not self._options.predefined:
            for symbol, value in predefined_symbols(rest).items():
                self._symbols.set_value(symbol, value)
        kind = Kind.DATA if is_data and self._sections.is_code else Kind.DIRECTIVE
        self._emit(kind, name, rest, text, place, buffer)

    def _emit(self, kind: Kind, name: str, rest: str, text: str, place: Place, buffer: Buffer) -> None:
        self._statements.append(Statement(kind, name, rest, text, place, buffer.frames, self._sections.current))

    def _label(self, name: str, text: str, place: Place, frames: tuple[Frame, ...]) -> None:
        if name.isdigit():
            name = self._symbols.add_numeric_label(name)
            text = name + ":"
        elif not self._symbols.add_label(name):
            self._problem("error", f"symbol '{name}' is already defined", "give each label its own name", place, frames)
        self._statements.append(Statement(Kind.LABEL, name, "", text, place, frames, self._sections.current))

    def _raw_block(self, name: str, text: str, place: Place, buffer: Buffer) -> None:
        closing = RAW_BLOCKS[name.lower()]
        first = buffer.next
        while buffer.next < len(buffer.lines):
            line = buffer.lines[buffer.next]
            buffer.next += 1
            if closing in line and blank_comments(line).strip(" \t\0\r\n") == closing:
                break
        else:
            self._problem(
                "error", f"'{name}' without '{closing}'", f"end the block with {closing}", place, buffer.frames
            )
        block = buffer.lines[first : max(first, buffer.next - 1)]
        written = [_without_comments(line) if _has_comment(line) else line for line in block]
        self._emit(Kind.DIRECTIVE, name, "\n".join(written) + "\n" if written else "", text, place, buffer)

    # Symbols

    def _evaluate_operands(self, rest: str, computed: bool) -> str:
        if "next_free" in rest:
            self._registers.update()
        return self._operands.evaluate(rest, computed)

    def _value(self, text: str) -> int:
        if "next_free" in text:
            self._registers.update()
        return self._symbols.evaluate(text)

    def _assign(self, name: str, text: str, place: Place, buffer: Buffer) -> None:
        if "next_free" in text or "next_free" in name:
            self._registers.update()
        if name == ".":
            return
        if self._symbols.is_label(name):
            self._problem(
                "error", f"'{name}' is a label and cannot be assigned", "use another name", place, buffer.frames
            )
            return
        try:
            self._symbols.assign(name, text)
        except ExpressionError as error:
            self._problem("error", f"'{name}' cannot be assigned: {error}", "", place, buffer.frames)
            return
        self._evaluate_always = True

    def _assign_by_directive(self, rest: str, place: Place, buffer: Buffer) -> None:
        name, comma, expression = (part.strip() for part in rest.partition(","))
        name = name.strip('"')
        if not comma or not name:
            self._problem("error", f"expected 'name, expression' instead of '{rest[:60]}'", "", place, buffer.frames)
            return
        self._assign(name, expression, place, buffer)
        written = f".set {name}, {expression}"
        self._emit(Kind.ASSIGNMENT, name, expression, written, place, buffer)

    def _assign_once(self, rest: str, place: Place, buffer: Buffer) -> None:
        name = rest.partition(",")[0].strip().strip('"')
        if self._symbols.is_symbol(name) or self._symbols.is_label(name):
            self._problem("error", f"redefinition of '{name}'", "use .set to change a symbol", place, buffer.frames)
            return
        self._assign_by_directive(rest, place, buffer)

    # Conditionals

    def _conditional(self, directive: str, rest: str, place: Place, buffer: Buffer) -> None:
        state = self._conditionals
        if directive in conditionals.OPENINGS:
            state.open(lambda: self._test(directive, rest, place, buffer), place, buffer.frames)
            return
        if directive == ".elseif":
            fits = state.else_if(lambda: self._test(".if", rest, place, buffer))
        elif directive == ".else":
            fits = state.otherwise()
        else:
            fits = state.close()
        if not fits:
            self._problem("error", f"'{directive}' without an '.if' that it belongs to", "", place, buffer.frames)

    def _test(self, directive: str, rest: str, place: Place, buffer: Buffer) -> bool:
        try:
            if directive in conditionals.TEXT_TESTS:
                return conditionals.text_test(directive, rest, self._symbols.defined)
            return conditionals.EXPRESSION_TESTS[directive](self._value(rest))
        except UnresolvedError as error:
            self._problem(
                "unknown",
                f"the condition '{rest[:80]}' cannot be evaluated: {error}",
                f"define '{error.symbol}' in the file or in the configuration (defines)",
                place,
                buffer.frames,
            )
        except ExpressionError as error:
            self._problem("error", f"the condition '{rest[:80]}' is malformed: {error}", "", place, buffer.frames)
        return False

    # Macros and repetitions

    def _define_macro(self, rest: str, place: Place, buffer: Buffer) -> None:
        body = self._capture(buffer, place, frozenset({".macro"}), frozenset({".endm", ".endmacro"}), ".macro")
        if body is None:
            return
        try:
            name, parameters = parse_definition(rest)
        except MacroError as error:
            self._problem("error", str(error), "", place, buffer.frames)
            return
        if name in self._macros:
            self._problem(
                "error", f"macro '{name}' is already defined", "remove it first with .purgem", place, buffer.frames
            )
            return
        self._macros[name] = Macro(name, parameters, body)

    def _purge_macro(self, rest: str, place: Place, buffer: Buffer) -> None:
        if self._macros.pop(rest.strip('"'), None) is None:
            self._problem("error", f"macro '{rest[:60]}' is not defined", "", place, buffer.frames)

    def _use_macro(self, macro: Macro, rest: str, place: Place, buffer: Buffer) -> None:
        open_uses = sum(1 for other in self._buffers if other.conditional_depth is not None)
        if open_uses >= self._limits.macro_depth:
            raise self._limit(
                f"macro '{macro.name}' is nested more than {self._limits.macro_depth} levels deep (limit macro_depth)"
            )
        try:
            arguments = parse_arguments(
                rest, macro.name, macro.parameters, self._value if self._altmacro else None, self._limits
            )
            if len(arguments) != len(macro.parameters):
                raise MacroError(f"macro '{macro.name}' takes {len(macro.parameters)} arguments")
        except MacroError as error:
            self._problem("error", str(error), "", place, buffer.frames)
            return
        except ExpressionError as error:
            self._problem("unknown", f"an argument of '{macro.name}' has no value: {error}", "", place, buffer.frames)
            return
        if self._altmacro:
            for line in macro.local_lines:
                self._problem(
                    "error",
                    "LLVM's assembler does not know LOCAL",
                    "make the label unique with \\@",
                    macro.body.place(line, 0),
                    (*buffer.frames, Frame(macro.name, place)),
                )
        lines = macro.expand(arguments, self._altmacro, self._uses)
        self._uses += 1
        self._push_rounds(iter([lines]), macro.body, Frame(macro.name, place), buffer)

    def _exit_macro(self, rest: str, place: Place, buffer: Buffer) -> None:
        depth = buffer.conditional_depth
        if depth is None:
            self._problem("error", "'.exitm' outside a macro", "", place, buffer.frames)
            return
        self._conditionals.unwind(depth)
        self._buffers.pop()

    def _switch_altmacro_on(self, rest: str, place: Place, buffer: Buffer) -> None:
        self._altmacro = True

    def _switch_altmacro_off(self, rest: str, place: Place, buffer: Buffer) -> None:
        self._altmacro = False

    def _repeat(self, rest: str, place: Place, buffer: Buffer) -> None:
        body = self._capture(buffer, place, _REPEAT_OPENINGS, frozenset({".endr"}), ".rept")
        if body is None:
            return
        try:
            count = self._value(rest)
        except ExpressionError as error:
            self._problem(
                "unknown" if isinstance(error, UnresolvedError) else "error",
                f"the count '{rest[:80]}' of '.rept' cannot be evaluated: {error}",
                "",
                place,
                buffer.frames,
            )
            return
        if count < 0:
            self._problem("error", f"the count of '.rept' is negative ({count})", "", place, buffer.frames)
            return
        template = compile_body(body, [], self._altmacro, False)
        if all("\\" not in line for line in body.lines):
            rounds: Iterator[list[str]] = repeat(list(body.lines), count)
        else:
            rounds = (fill(template, (), 0, number) for number in range(count))
        self._push_rounds(rounds, body, Frame(".rept", place), buffer)

    def _repeat_over_arguments(self, rest: str, place: Place, buffer: Buffer) -> None:
        self._repeat_over(".irp", rest, place, buffer)

    def _repeat_over_characters(self, rest: str, place: Place, buffer: Buffer) -> None:
        self._repeat_over(".irpc", rest, place, buffer)

    def _repeat_over(self, directive: str, rest: str, place: Place, buffer: Buffer) -> None:
        body = self._capture(buffer, place, _REPEAT_OPENINGS, frozenset({".endr"}), directive)
        if body is None:
            return
        name, comma, values = rest.partition(",")
        name = name.strip().strip('"')
        try:
            if not comma or not name:
                raise MacroError(f"expected 'name, values' after '{directive}'")
            arguments = parse_arguments(values, directive, None, self._value if self._altmacro else None, self._limits)
            if directive == ".irpc":
                first = arguments[0] if len(arguments) == 1 else None
                if first is None or first.tokens != 1:
                    raise MacroError("expected one word after '.irpc'")
                arguments = [Argument(character, 1) for character in first.text]
        except (MacroError, ExpressionError) as error:
            self._problem("error", str(error), "", place, buffer.frames)
            return
        template = compile_body(body, [name], self._altmacro, True)
        instance = self._uses
        rounds = (fill(template, (argument,), instance, number) for number, argument in enumerate(arguments))
        self._push_rounds(rounds, body, Frame(directive, place), buffer)

    def _push_rounds(self, rounds: Iterator[list[str]], body: Body, frame: Frame, buffer: Buffer) -> None:
        if not body.lines:
            return
        frames = (*buffer.frames, frame)
        self._push(BodyBuffer(rounds, body, frames, self._conditionals.depth))

    def _push(self, buffer: Buffer) -> None:
        if len(self._buffers) >= self._limits.buffer_depth:
            raise self._limit(
                f"macros, repetitions and included files are nested more than {self._limits.buffer_depth} levels deep"
                " (limit buffer_depth)"
            )
        self._buffers.append(buffer)

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
            pieces = self._memo.get(line)
            if pieces is None:
                pieces = self._cut(line)
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

    # Files

    def _open_file(self, path: str, text: str, frames: tuple[Frame, ...]) -> None:
        if len(text) > self._limits.text_characters:
            raise LimitError(
                f"the file has more than {self._limits.text_characters} characters (limit text_characters)",
                "check generated files before they are joined, or raise the limit in the configuration",
                path,
            )
        self._files[path] = text
        lines = logical_lines(text)
        self._count(len(lines), 0)
        buffer = FileBuffer(path, lines, frames)
        self._push(buffer)
        if ".amdgcn." in text:
            self._evaluate_always = True
        if opening := unterminated(lines[-1]):
            what = "comment" if opening == "/*" else "string"
            start, end = buffer.offsets[-2], buffer.offsets[-2] + len(lines[-1].split("\n", 1)[0])
            place = Place(path, buffer.numbers[len(lines) - 1], 1, start, end)
            self._problem("error", f"unterminated {what}", f"close the {what}", place, frames)
            if len(lines[-1]) > self._limits.line_characters:
                lines[-1] = ""

    def _include(self, rest: str, place: Place, buffer: Buffer) -> None:
        name = rest.strip()
        if not (len(name) > 1 and name[0] == name[-1] == '"'):
            self._problem("error", "expected a string after '.include'", "", place, buffer.frames)
            return
        try:
            path, text = self._includes.read(name[1:-1], place.file)
        except IncludeRefusedError as error:
            self._problem(
                "unknown", f"not included: {error}", "add its directory to the include paths", place, buffer.frames
            )
            return
        self._open_file(path, text, (*buffer.frames, Frame(f".include {name}", place)))

    def _end(self, rest: str, place: Place, buffer: Buffer) -> None:
        if buffer.conditional_depth is None:
            self._buffers.pop()
        else:
            self._buffers.clear()

    # Messages

    def _report_error(self, rest: str, place: Place, buffer: Buffer) -> None:
        message = rest.strip().strip('"') or "the file reports an error here"
        self._problem("error", message[:400], "", place, buffer.frames)

    def _unexpected(self, rest: str, place: Place, buffer: Buffer) -> None:
        written = self._files.get(place.file, "")[place.start : place.end]
        self._problem("error", f"'{written[:40]}' without a beginning", "", place, buffer.frames)

    def _problem(self, severity: str, message: str, repair: str, place: Place, frames: tuple[Frame, ...]) -> None:
        if (message, place) in self._seen_problems:
            return
        self._seen_problems.add((message, place))
        if len(self._problems) >= self._limits.problems:
            raise self._limit(f"more than {self._limits.problems} problems in one file (limit problems)")
        self._problems.append(SourceProblem(severity, message, repair, place, frames))

    def _finish(self) -> None:
        if self._conditionals.depth:
            place, frames = self._conditionals.innermost
            self._problem("error", "this '.if' has no '.endif'", "close it with .endif", place, frames)
        if not self._symbols.waiting and not self._evaluate_always:
            return
        for index in self._late:
            statement = self._statements[index]
            if '"' in statement.rest or "next_free" in statement.rest:
                continue
            evaluated = self._operands.evaluate(statement.rest, True)
            if evaluated != statement.rest:
                self._statements[index] = Statement(
                    statement.kind,
                    statement.name,
                    evaluated,
                    f"{statement.name} {evaluated}",
                    statement.place,
                    statement.frames,
                    statement.section,
                )


def _has_comment(line: str) -> bool:
    return ";" in line or "//" in line or "/*" in line


def _without_comments(line: str) -> str:
    return blank_comments(line).replace("\0", " ").rstrip()
