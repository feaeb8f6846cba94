"""Macro definitions and the text that a use of them writes (LLVM's ``AsmParser::expandMacro``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from asmevo_gate.source.lines import NAME
from asmevo_gate.source.macro_arguments import Argument, MacroError, Parameter, parse_argument
from asmevo_gate.source.statement import Place

PlaceOf = Callable[[int, int], Place]
"""The place of a piece of a body: index of the logical line, index of the piece in the line."""


class Body:
    """The logical lines between a macro-like directive and its end, and where each stands."""

    def __init__(self, lines: tuple[str, ...], place_of: PlaceOf) -> None:
        self.lines = lines
        self._place_of = place_of
        self._places: dict[tuple[int, int], Place] = {}

    def place(self, line: int, piece: int) -> Place:
        """The place of a piece of a line of the body."""
        place = self._places.get((line, piece))
        if place is None:
            place = self._places[line, piece] = self._place_of(line, piece)
        return place


class Macro(msgspec.Struct):
    """A macro. ``uses`` counts its expansions so far (``\\+``)."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Body
    uses: int = 0
    local_lines: dict[int, tuple[str, ...]] = {}
    """``LOCAL a, b`` of ``.altmacro`` mode: line of the body -> names."""
    _templates: dict[bool, list[list[str | int]]] = {}

    def __post_init__(self) -> None:
        for index, line in enumerate(self.body.lines):
            if match := _LOCAL.fullmatch(line):
                self.local_lines[index] = tuple(re.split(r"[\s,]+", match[1].strip()))

    def expand(self, arguments: Sequence[Argument | None], altmacro: bool, instance: int) -> list[str]:
        """The logical lines of one use. ``instance`` is the value of ``\\@``."""
        local_names = [name for names in self.local_lines.values() for name in names] if altmacro else []
        template = self._templates.get(altmacro)
        if template is None:
            names = [parameter.name for parameter in self.parameters]
            template = compile_body(self.body, names + local_names, altmacro, True)
            for index in self.local_lines if altmacro else ():
                template[index] = []
            self._templates[altmacro] = template
        if local_names:
            arguments = [*arguments, *(Argument(f".LL{instance}_{name}", 1) for name in local_names)]
        lines = fill(template, arguments, instance, self.uses)
        self.uses += 1
        return lines


INSTANCE = -1
USES = -2

_PIECE = re.compile(r"\\@|\\\+|\\\(\)|\\([A-Za-z0-9_$.]*)(&?)|([A-Za-z0-9_$.]+)(&?)")
_LOCAL = re.compile(rf"[ \t]*LOCAL[ \t]+({NAME}(?:[ \t,]+{NAME})*)[ \t]*(?:(?:;|//).*)?")
_DEFINITION = re.compile(rf"[ \t]*(?:({NAME})|\"([^\"]*)\")[ \t]*,?")
_PARAMETER = re.compile(rf"[ \t]*({NAME})[ \t]*(?::[ \t]*(\w+))?[ \t]*(=)?[ \t]*")
_BLANKS = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def compile_body(body: Body, names: Sequence[str], altmacro: bool, instances: bool) -> list[list[str | int]]:
    """Each line as text and indices: a parameter, :data:`INSTANCE` for ``\\@``, :data:`USES` for ``\\+``.

    ``instances`` is false for ``.rept``, which leaves ``\\@`` to the macro around it.
    """
    numbers = {name: index for index, name in reversed(list(enumerate(names)))}
    template: list[list[str | int]] = []
    for line in body.lines:
        if "\\" not in line and not altmacro:
            template.append([line])
            continue
        parts: list[str | int] = []
        position = 0
        for match in _PIECE.finditer(line):
            token = match[0]
            part: str | int
            if token == "\\@":
                if not instances:
                    continue
                part = INSTANCE
            elif token == "\\+":
                part = USES
            elif token == "\\()":
                part = ""
            elif token[0] == "\\":
                index = numbers.get(match[1])
                if index is None:
                    if altmacro and match[2]:
                        parts.append(line[position : match.end() - 1])
                        position = match.end()
                    continue
                part = index
            else:
                index = numbers.get(match[3]) if altmacro else None
                if index is None:
                    continue
                part = index
            parts.append(line[position : match.start()])
            parts.append(part)
            position = match.end()
            if isinstance(part, int) and part >= 0 and token[-1] == "&" and not altmacro:
                position -= 1
        parts.append(line[position:])
        template.append([part for part in parts if part != ""])
    return template


def fill(template: list[list[str | int]], arguments: Sequence[Argument | None], instance: int, uses: int) -> list[str]:
    """The lines of a template with the arguments put in."""
    texts = [argument.text if argument is not None else "" for argument in arguments]
    lines: list[str] = []
    for parts in template:
        if len(parts) == 1 and isinstance(parts[0], str):
            lines.append(parts[0])
            continue
        lines.append(
            "".join(
                [
                    part
                    if isinstance(part, str)
                    else texts[part]
                    if part >= 0
                    else str(instance if part == INSTANCE else uses)
                    for part in parts
                ]
            )
        )
    return lines


def parse_definition(rest: str) -> tuple[str, tuple[Parameter, ...]]:
    """Name and parameters of a ``.macro`` line.

    Raises:
        MacroError: the line is malformed.
    """
    match = _DEFINITION.match(rest)
    if not match:
        raise MacroError("expected a name in '.macro' directive")
    name = match[1] or match[2]
    parameters: list[Parameter] = []
    position = match.end()
    while rest[position:].strip():
        if parameters and parameters[-1].vararg:
            raise MacroError(f"vararg parameter '{parameters[-1].name}' should be the last parameter")
        part = _PARAMETER.match(rest, position)
        if not part:
            raise MacroError("expected a parameter name in '.macro' directive")
        if part[1] in {parameter.name for parameter in parameters}:
            raise MacroError(f"macro '{name}' has multiple parameters named '{part[1]}'")
        if part[2] not in (None, "req", "vararg"):
            raise MacroError(f"{part[2]} is not a valid parameter qualifier for '{part[1]}' in macro '{name}'")
        position = part.end()
        default: Argument | None = None
        if part[3]:
            default, position = parse_argument(rest, position)
        parameters.append(Parameter(part[1], part[2] == "req", part[2] == "vararg", default))
        blanks = _BLANKS.match(rest, position)
        assert blanks is not None
        position = blanks.end()
    return name, tuple(parameters)
