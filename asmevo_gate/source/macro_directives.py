"""Directives that write text: ``.macro`` and its uses, ``.rept``, ``.irp``, ``.irpc``, ``.exitm``, ``.altmacro``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from asmevo_gate.source.assembly_state import AssemblyState
from asmevo_gate.source.buffers import BodyBuffer, Buffer
from asmevo_gate.source.expressions import ExpressionError, UnresolvedError
from asmevo_gate.source.macro_arguments import Argument, MacroError, parse_arguments
from asmevo_gate.source.macros import Body, Macro, compile_body, fill, parse_definition
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.statement import Frame, Place

_REPEAT_OPENINGS = frozenset({".rep", ".rept", ".irp", ".irpc"})
_PADDING = "s_code_end"
"""Fills the space that instruction prefetch may read; running into it is an error of its own, however long it is
(RDNA ISA guides, S_CODE_END)."""


class MacroDirectives(AssemblyState):
    """Macros and repetitions of one assembly."""

    def __init__(self, path: str, text: str, options: SourceOptions) -> None:
        super().__init__(path, text, options)
        self._macros: dict[str, Macro] = {}
        self._altmacro = False
        self._uses = 0

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
            if isinstance(error, UnresolvedError) and _is_padding(body):
                self._push_rounds(iter([list(body.lines)]), body, Frame(".rept", place), buffer)
                return
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


def _is_padding(body: Body) -> bool:
    """Whether a body is nothing but padding: how often it is repeated (``.rept (256 - (. - start) % 64) / 4``, which
    only the layout of the code knows) changes no analysis."""
    lines = [line.strip() for line in body.lines]
    return all(line == _PADDING for line in lines if line) and any(lines)
