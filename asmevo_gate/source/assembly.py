"""Reading one file as the assembler does: macros, conditionals, symbols, sections -> statements."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.errors import LimitError
from asmevo_gate.source import conditionals
from asmevo_gate.source.buffers import Buffer, FileBuffer
from asmevo_gate.source.expressions import ExpressionError, UnresolvedError
from asmevo_gate.source.includes import IncludeRefusedError
from asmevo_gate.source.lines import Form, Piece, blank_comments, logical_lines, unterminated
from asmevo_gate.source.macro_directives import MacroDirectives
from asmevo_gate.source.operands import identifiers
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.sections import DATA_DIRECTIVES
from asmevo_gate.source.sections import DIRECTIVES as SECTION_DIRECTIVES
from asmevo_gate.source.statement import Frame, Kind, Place, Source, Statement
from asmevo_gate.source.symbols import predefined_symbols

RAW_BLOCKS = {
    ".amdgpu_metadata": ".end_amdgpu_metadata",
    ".amdgpu_pal_metadata": ".end_amdgpu_pal_metadata",
    ".amd_amdgpu_hsa_metadata": ".end_amd_amdgpu_hsa_metadata",
    ".amd_amdgpu_pal_metadata": ".end_amd_amdgpu_pal_metadata",
    ".amd_kernel_code_t": ".end_amd_kernel_code_t",
}
"""Directives whose block is kept as one statement: opening -> closing."""

_ASSIGNMENTS = frozenset({".set", ".equ", ".equiv"})
_SILENT = frozenset({".print", ".warning", ".macros_on", ".macros_off"})


class Assembly(MacroDirectives):
    """One run over one file."""

    def __init__(self, path: str, text: str, options: SourceOptions) -> None:
        super().__init__(path, text, options)
        self._directives: dict[str, Callable[[str, Place, Buffer], None]] = {
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
        path, offsets, numbers = (file.path, file.offsets, file.numbers) if file else ("", [], ())
        instruction, label = Form.INSTRUCTION, Form.LABEL
        kind = Kind.INSTRUCTION
        section = self._sections.current
        ignore = self._conditionals.ignore
        evaluate_always = self._evaluate_always
        symbols = self._symbols.names
        while index < end:
            line = lines[index]
            pieces, plain = memo.get(line) or self._cut(line)
            if plain is not None and file is not None and not ignore:
                name, rest, text, start, stop = plain
                if name not in macros and (not evaluate_always or symbols.isdisjoint(identifiers(rest))):
                    offset = offsets[index]
                    place = Place(path, numbers[index], start + 1, offset + start, offset + stop)
                    append(Statement(kind, name, rest, text, place, frames, section))
                    index += 1
                    continue
            index += 1
            for number, (form, name, rest, text, start, stop, computed) in enumerate(pieces):
                if ignore and (form is not Form.DIRECTIVE or name.lower() not in conditionals.DIRECTIVES):
                    break
                if file is None:
                    place = buffer.place(index - 1, number)
                elif "\n" in line:
                    place = file.place(index - 1, number)
                else:
                    offset = offsets[index - 1]
                    place = Place(path, numbers[index - 1], start + 1, offset + start, offset + stop)
                if form is instruction and not ignore and name not in macros:
                    if not name.islower():  # LLVM's AsmParser matches mnemonics in lower case.
                        text = name.lower() + text[len(name) :]
                        name = name.lower()
                    if computed or evaluate_always:
                        evaluated = self._evaluate_operands(rest, computed)
                        if evaluated != rest:
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
        elif lower in _ASSIGNMENTS:
            self._assign_by_directive(lower, rest, text, place, buffer)
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

    def _assign_by_directive(self, directive: str, rest: str, text: str, place: Place, buffer: Buffer) -> None:
        name, comma, expression = (part.strip() for part in rest.partition(","))
        name = name.strip('"')
        if not comma or not name:
            self._problem("error", f"expected 'name, expression' instead of '{rest[:60]}'", "", place, buffer.frames)
            return
        if directive == ".equiv" and (self._symbols.is_symbol(name) or self._symbols.is_label(name)):
            self._problem("error", f"redefinition of '{name}'", "use .set to change a symbol", place, buffer.frames)
            return
        self._assign(name, expression, place, buffer)
        self._emit(Kind.ASSIGNMENT, name, expression, text, place, buffer)

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

    # Files

    def _open_file(self, path: str, text: str, frames: tuple[Frame, ...]) -> None:
        if len(text) > self._limits.text_characters:
            raise LimitError(
                f"the file has more than {self._limits.text_characters} characters (limit text_characters)",
                "check generated files before they are joined",
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
