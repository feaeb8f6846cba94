"""Absolute expressions with LLVM's operators, precedence and 64-bit arithmetic.

An expression is held in postfix order, so neither parsing nor evaluation recurses: a long or deep
expression costs its length and nothing else. Precedence follows LLVM's ``getGNUBinOpPrecedence``, evaluation
``MCExpr::evaluateAsRelocatableImpl``: comparisons give -1 for true, ``>>`` is a logical shift, division truncates.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from asmevo_gate.errors import LimitError
from asmevo_gate.source.options import SourceLimits


class ExpressionError(Exception):
    """The text is no expression, or it has no value (division by zero)."""


class UnresolvedError(ExpressionError):
    """The value depends on a symbol that has no absolute value here."""

    def __init__(self, symbol: str) -> None:
        super().__init__(f"the value of '{symbol}' is not known here")
        self.symbol = symbol


class Operator(NamedTuple):
    """An operator or function in postfix order; it takes ``operands`` values from the stack."""

    name: str
    operands: int


Item = int | str | Operator
"""A value, the name of a symbol, or an operator."""
Postfix = tuple[Item, ...]
Lookup = Callable[[str], int]
"""The value of a symbol; raises :class:`UnresolvedError` where it has none."""
Functions = Mapping[str, Callable[[list[int]], int]]
"""Functions by name; they raise :class:`ExpressionError` for arguments that they do not take."""


class Parsed(NamedTuple):
    """An expression and the offset in the text just behind its last character."""

    postfix: Postfix
    end: int


_PRECEDENCE = {
    "||": 1, "&&": 2,
    "==": 3, "!=": 3, "<>": 3, "<": 3, "<=": 3, ">": 3, ">=": 3,
    "+": 4, "-": 4,
    "|": 5, "!": 5, "^": 5, "&": 5,
    "*": 6, "/": 6, "%": 6, "<<": 6, ">>": 6,
}  # fmt: skip
_BINARY = {symbol: Operator(symbol, 2) for symbol in _PRECEDENCE}
_UNARY = {symbol: Operator("unary " + symbol, 1) for symbol in "+-~!"}
FUNCTIONS = frozenset({"max", "or", "alignto", "extrasgprs", "totalnumvgprs", "occupancy", "instprefsize"})
"""Functions of AMDGPU expressions (AMDGPUMCExpr); those that depend on the target have no value here."""

_TOKEN = re.compile(
    r"""[ \t]*(?:
      (?P<real>\d+\.\d*(?:[eE][+-]?\d+)?(?![\w.])|\.\d+(?:[eE][+-]?\d+)?(?![\w.])|\d+[eE][+-]?\d+(?![\w.]))
    | (?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(?:[uU]?[lL]{0,2}(?![\w.$@]))?
    | (?P<name>[A-Za-z_.$@?][A-Za-z0-9_.$@?]*)
    | '(?P<character>\\.|[^\\'\n])'
    | (?P<symbol>\|\||&&|==|!=|<>|<<|>>|<=|>=|[-+~!*/%&|^<>(),])
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_LOCAL_LABEL = re.compile(r"[bf](?![\w.$@])")
_REGISTER_BRACKET = re.compile(r"(?:v|s|a|acc|ttmp)$")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "f": "\f", "r": "\r"}
_MASK = (1 << 64) - 1


def parse_expression(text: str, position: int, limits: SourceLimits, stop: int | None = None) -> Parsed:
    """The longest expression that starts at ``position`` and ends at ``stop`` or before.

    Raises:
        ExpressionError: no expression starts there.
        LimitError: the expression passes ``expression_terms`` or ``expression_depth``.
    """
    start = position
    stop = len(text) if stop is None else stop
    output: list[Item] = []
    operators: list[str] = []
    calls: list[int] = []
    """Arguments so far of each open parenthesis; -1 for one that is no call."""
    operand_wanted = True
    good_end = -1
    """Where the expression could stop: behind its last complete operand outside parentheses."""
    terms = 0
    while match := _TOKEN.match(text, position, stop):
        terms += 1
        if terms > limits.expression_terms:
            raise LimitError(f"an expression has more than {limits.expression_terms} terms (limit expression_terms)")
        group = match.lastgroup
        token = match[group] if group else ""
        if operand_wanted:
            if group == "number":
                local = _LOCAL_LABEL.match(text, match.end())
                if local and token.isdigit():
                    output.append(token + local[0])
                    position = local.end()
                else:
                    output.append(_number(token))
                    position = match.end()
            elif group == "name":
                position = match.end()
                if text[position : position + 1] == "(" and token in FUNCTIONS:
                    operators.append(token + "(")
                    calls.append(1)
                    position += 1
                    continue
                if text[position : position + 1] == "[" and _REGISTER_BRACKET.match(token):
                    break
                output.append(token)
            elif group == "real":
                output.append(_signed(struct.unpack("<Q", struct.pack("<d", float(token)))[0]))
                position = match.end()
            elif group == "character":
                output.append(ord(_ESCAPES.get(token[1], token[1]) if token[0] == "\\" else token))
                position = match.end()
            elif token == "(":
                operators.append("(")
                calls.append(-1)
                position = match.end()
                if len(calls) > limits.expression_depth:
                    raise LimitError(
                        f"an expression is nested deeper than {limits.expression_depth} (limit expression_depth)"
                    )
                continue
            elif token in _UNARY:
                operators.append("unary " + token)
                position = match.end()
                continue
            else:
                break
            while operators and operators[-1].startswith("unary"):
                output.append(_UNARY[operators.pop()[-1]])
            operand_wanted = False
        elif token in _PRECEDENCE:
            precedence = _PRECEDENCE[token]
            while operators and _PRECEDENCE.get(operators[-1], 0) >= precedence:
                output.append(_BINARY[operators.pop()])
            operators.append(token)
            position = match.end()
            operand_wanted = True
            continue
        elif token == ")" and calls:
            while operators[-1][-1] != "(":
                output.append(_BINARY[operators.pop()])
            opening = operators.pop()
            arguments = calls.pop()
            if arguments > 0:
                output.append(Operator(opening[:-1], arguments))
            while operators and operators[-1].startswith("unary"):
                output.append(_UNARY[operators.pop()[-1]])
            position = match.end()
        elif token == "," and calls and calls[-1] > 0:
            while operators[-1][-1] != "(":
                output.append(_BINARY[operators.pop()])
            calls[-1] += 1
            position = match.end()
            operand_wanted = True
            continue
        else:
            break
        if not calls:
            good_end = position
    if good_end < 0:
        raise ExpressionError("expected an absolute expression")
    if operand_wanted or calls:
        return parse_expression(text, start, limits, good_end)
    while operators:
        output.append(_BINARY[operators.pop()])
    return Parsed(tuple(output), good_end)


def evaluate(postfix: Postfix, lookup: Lookup, functions: Functions | None = None) -> int:
    """The value of an expression as a signed 64-bit number; ``functions`` are those that depend on the target.

    Raises:
        UnresolvedError: a symbol has no absolute value (raised by ``lookup`` too), or a function needs the target.
        ExpressionError: division by zero.
    """
    if len(postfix) == 1:
        item = postfix[0]
        return item if isinstance(item, int) else lookup(str(item))
    stack: list[int] = []
    for item in postfix:
        if isinstance(item, int):
            stack.append(item)
        elif isinstance(item, str):
            stack.append(lookup(item))
        elif item.operands == 2 and item.name in _APPLY:
            right = stack.pop()
            stack[-1] = _signed(_APPLY[item.name](stack[-1], right))
        elif item.name in _APPLY_UNARY:
            stack[-1] = _signed(_APPLY_UNARY[item.name](stack[-1]))
        else:
            arguments = stack[-item.operands :]
            del stack[-item.operands :]
            stack.append(_call(item.name, arguments, functions or {}))
    return stack[0]


def bind(postfix: Postfix, constants: Callable[[str], int | None]) -> Postfix:
    """The expression with each symbol replaced that has a value now: LLVM substitutes absolute symbols when it
    reads an expression, so that a later reassignment does not change it."""
    bound: list[Item] = []
    for item in postfix:
        value = constants(item) if isinstance(item, str) else None
        bound.append(item if value is None else value)
    return tuple(bound)


def names_in(postfix: Postfix) -> Sequence[str]:
    """The symbols of an expression."""
    return [item for item in postfix if isinstance(item, str)]


def _number(token: str) -> int:
    prefix = token[:2].lower()
    if prefix == "0x":
        value = int(token, 16)
    elif prefix == "0b":
        value = int(token[2:], 2)
    elif token[0] == "0" and len(token) > 1:
        if not all(digit in "01234567" for digit in token):
            raise ExpressionError(f"invalid octal number {token[:40]}")
        value = int(token, 8)
    elif len(token) > 20:
        raise ExpressionError(f"the number {token[:20]}... does not fit 64 bits")
    else:
        value = int(token)
    if value > _MASK:
        raise ExpressionError(f"the number {token[:40]} does not fit 64 bits")
    return _signed(value)


def _signed(value: int) -> int:
    if -(1 << 63) <= value < 1 << 63:
        return value
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise ExpressionError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _divide(left, right)


_APPLY: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a) or bool(b)),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "==": lambda a, b: -int(a == b),
    "!=": lambda a, b: -int(a != b),
    "<>": lambda a, b: -int(a != b),
    "<": lambda a, b: -int(a < b),
    "<=": lambda a, b: -int(a <= b),
    ">": lambda a, b: -int(a > b),
    ">=": lambda a, b: -int(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _remainder,
    "|": lambda a, b: a | b,
    "!": lambda a, b: a | ~b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "<<": lambda a, b: (a & _MASK) << (b & 63),
    ">>": lambda a, b: (a & _MASK) >> (b & 63),
}
_APPLY_UNARY: dict[str, Callable[[int], int]] = {
    "unary +": lambda a: a,
    "unary -": lambda a: -a,
    "unary ~": lambda a: ~a,
    "unary !": lambda a: int(not a),
}


def _call(name: str, arguments: list[int], functions: Functions) -> int:
    if name == "max":
        return max(arguments)
    if name == "or":
        value = 0
        for argument in arguments:
            value |= argument
        return value
    if name == "alignto" and len(arguments) == 2 and arguments[1] > 0:
        return -(-arguments[0] // arguments[1]) * arguments[1]
    if name in functions:
        return functions[name](arguments)
    raise UnresolvedError(f"{name}(...)")
