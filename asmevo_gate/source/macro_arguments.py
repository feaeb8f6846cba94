"""Arguments of a macro use, cut as LLVM's ``AsmParser::parseMacroArgument`` cuts them.

Blanks and commas separate arguments, except around operators and inside parentheses; ``name=value`` gives an
argument by name; a string loses its quotes; ``.altmacro`` adds ``%expression`` and ``<text>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from asmevo_gate.source.expressions import parse_expression
from asmevo_gate.source.lines import NAME
from asmevo_gate.source.options import SourceLimits


class MacroError(Exception):
    """A macro definition or use that LLVM's assembler rejects."""


class Argument(NamedTuple):
    """The text that replaces a parameter, and the number of tokens it was written with."""

    text: str
    tokens: int


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a macro; ``default`` is ``None`` when there is none."""

    name: str
    required: bool = False
    vararg: bool = False
    default: Argument | None = None


_TOKEN = re.compile(
    rf"""(?P<blank>[ \t\r\n]+)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>{NAME})|(?P<comma>,)
    |(?P<operator>\|\||&&|==|!=|<>|<<|>>|<=|>=|[-+~/*.|^&!<>])|(?P<equal>=)
    |0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?|'(?:\\.|[^\\'])'|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORD = re.compile(rf"({NAME})[ \t]*=(?!=)[ \t]*")
_BLANKS = re.compile(r"[ \t\r\n]*")


def parse_argument(text: str, position: int) -> tuple[Argument | None, int]:
    """One argument at ``position`` and where it ends; ``None`` when it is empty.

    Raises:
        MacroError: unbalanced parentheses, or an ``=`` that is not allowed.
    """
    written: list[str] = []
    tokens = 0
    depth = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        group = match.lastgroup
        if group == "equal":
            raise MacroError("unexpected '=' in a macro argument")
        if depth == 0:
            if group == "comma":
                break
            blank = group == "blank"
            if blank:
                position = match.end()
                match = _TOKEN.match(text, position)
                if match is None:
                    break
            if match.lastgroup == "operator":
                written.append(match[0])
                tokens += 1
                position = _after_blanks(text, match.end())
                continue
            if blank:
                break
        token = match[0]
        if token == "(":
            depth += 1
        elif token == ")" and depth:
            depth -= 1
        written.append(token[1:-1] if group == "string" else token)
        tokens += 1
        position = match.end()
    if depth:
        raise MacroError("unbalanced parentheses in macro argument")
    return (Argument("".join(written), tokens) if tokens else None), position


def parse_arguments(
    text: str,
    macro: str,
    parameters: Sequence[Parameter] | None,
    evaluate: Callable[[str], int] | None,
    limits: SourceLimits,
) -> list[Argument | None]:
    """The arguments of one use, one for each parameter, defaults filled in; ``None`` for an empty one.

    ``parameters`` is ``None`` for ``.irp`` and ``.irpc``, which take any number. ``evaluate`` is given in
    ``.altmacro`` mode and evaluates ``%expression``.

    Raises:
        MacroError: the use does not fit the parameters.
        ExpressionError: a ``%expression`` has no absolute value.
    """
    count = len(parameters) if parameters is not None else 0
    arguments: list[Argument | None] = [None] * count
    by_name = False
    position = _after_blanks(text, 0)
    index = 0
    while not count or index < count:
        target = index
        keyword = _KEYWORD.match(text, position)
        if keyword:
            by_name = True
            position = keyword.end()
            target = _parameter_index(parameters or (), keyword[1], macro)
        elif by_name and position < len(text):
            raise MacroError("cannot mix positional and keyword arguments")
        vararg = bool(parameters) and index == count - 1 and parameters is not None and parameters[-1].vararg
        argument: Argument | None
        if evaluate is not None and text[position : position + 1] == "%":
            parsed = parse_expression(text, position + 1, limits)
            argument = Argument(str(evaluate(text[position + 1 : parsed.end])), 1)
            position = parsed.end
        elif evaluate is not None and (angle := _angle_string(text, position)):
            argument, position = angle
        elif vararg:
            rest = text[position:].rstrip()
            argument = Argument(rest, 1) if rest else None
            position = len(text)
        else:
            argument, position = parse_argument(text, position)
        if argument is not None:
            while len(arguments) <= target:
                arguments.append(None)
            arguments[target] = argument
        position = _after_blanks(text, position)
        if position >= len(text):
            return _filled(arguments, parameters or (), macro)
        if text[position] == ",":
            position = _after_blanks(text, position + 1)
        index += 1
        if len(arguments) > limits.expression_terms:
            raise MacroError(f"more than {limits.expression_terms} arguments")
    raise MacroError("too many positional arguments")


def _filled(arguments: list[Argument | None], parameters: Sequence[Parameter], macro: str) -> list[Argument | None]:
    for index, parameter in enumerate(parameters):
        if arguments[index] is None:
            if parameter.required:
                raise MacroError(f"missing value for required parameter '{parameter.name}' in macro '{macro}'")
            arguments[index] = parameter.default
    return arguments


def _parameter_index(parameters: Sequence[Parameter], name: str, macro: str) -> int:
    for index, parameter in enumerate(parameters):
        if parameter.name == name:
            return index
    raise MacroError(f"parameter named '{name}' does not exist for macro '{macro}'")


def _angle_string(text: str, position: int) -> tuple[Argument, int] | None:
    """``<text>`` with ``!`` as escape, or ``None`` when there is no closing bracket."""
    if text[position : position + 1] != "<":
        return None
    contents: list[str] = []
    index = position + 1
    while index < len(text) and text[index] not in ">\n\r":
        if text[index] == "!" and index + 1 < len(text):
            index += 1
        contents.append(text[index])
        index += 1
    if index >= len(text) or text[index] != ">":
        return None
    return Argument("".join(contents), 1), index + 1


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()
