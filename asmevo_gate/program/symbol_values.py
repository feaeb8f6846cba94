"""Values of absolute expressions in descriptor directives, with the functions that LLVM adds for AMDGPU.

Compilers write resource counts as expressions over symbols that may be defined later in the file:
``.amdhsa_next_free_vgpr max(totalnumvgprs(k.num_agpr, k.num_vgpr), 1, 0)`` (LLVM AMDGPUMCExpr). A symbol has
the value of its last assignment before the use, or of its last assignment at all when it is defined later,
which is how LLVM substitutes variable symbols (AsmParser::parsePrimaryExpr).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from asmevo_gate.isa.resource_limits import extra_sgprs, resource_limits, total_vgprs
from asmevo_gate.isa.targets import Target
from asmevo_gate.source.statement import Kind, Source, Statement

MAX_DEPTH = 60
"""Nested parentheses and unary operators of one expression."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)|(?P<name>[A-Za-z_.$@][\w.$@]*|\"[^\"]*\")"
    r"|(?P<char>'(?:\\.|[^'\\])')|(?P<operator>\|\||&&|<<|>>|<=|>=|==|!=|<>|[-+*/%&|^~!<>(),]))"
)
_PRECEDENCE = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<>": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "+": 4, "-": 4,
    "|": 5, "^": 5, "&": 5, "!": 5, "*": 6, "/": 6, "%": 6, "<<": 6, ">>": 6,
}  # fmt: skip
"""Binding strength of binary operators, as AsmParser's getGNUBinOpPrecedence has it."""

_COUNTERS = {".amdgcn.next_free_vgpr": "v", ".amdgcn.next_free_sgpr": "s"}
"""Symbols that the assembler raises at every numbered register (AMDGPUAsmParser::updateGprCountSymbols)."""


class Unresolved(Exception):
    """An expression has no value here; the message says why."""


class _NeedsAssignment(Exception):
    """The value of the assignment in statement ``index`` is needed first."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class SymbolValues:
    """Evaluates expressions at places of one file.

    ``target`` gives the register facts that ``extrasgprs`` and others need; without it those are unresolved.
    """

    def __init__(self, source: Source, target: Target | None = None) -> None:
        self._source = source
        self._target = target
        self._assignments: dict[str, list[int]] = {}
        for index, statement in enumerate(source.statements):
            if statement.kind is Kind.ASSIGNMENT:
                self._assignments.setdefault(statement.name, []).append(index)
        self._values: dict[int, int | str] = {}

    def evaluate(self, expression: str, at: int) -> int:
        """The value of an expression that stands in statement ``at``.

        Raises:
            Unresolved: a symbol is not defined, or the text is no absolute expression.
        """
        while True:
            try:
                return self._parse(expression, at)
            except _NeedsAssignment as need:
                self._settle(need.index)

    def _settle(self, index: int) -> None:
        """Evaluate the assignment in statement ``index`` and, before it, those that it needs. A list of open
        assignments instead of recursion: chains of symbols are as long as the file."""
        open_assignments = [index]
        pending = {index}
        while open_assignments:
            index = open_assignments[-1]
            statement = self._source.statements[index]
            value: int | str
            try:
                value = self._values.get(index) or self._parse(_assigned_text(statement), index)
            except _NeedsAssignment as need:
                if need.index not in pending:
                    open_assignments.append(need.index)
                    pending.add(need.index)
                    continue
                value = f"symbol '{statement.name}' is defined by itself"
            except Unresolved as reason:
                value = str(reason)
            self._values[index] = value
            pending.discard(open_assignments.pop())

    def _parse(self, expression: str, at: int) -> int:
        return _Parser(expression, lambda name: self._symbol(name, at), self._call).value()

    def _symbol(self, name: str, at: int) -> int:
        indices = self._assignments.get(name, [])
        before = bisect_left(indices, at)
        if name in _COUNTERS:
            return self._next_free(name, indices[before - 1] if before else None, at)
        if indices:
            return self._assigned(indices[before - 1] if before else indices[-1])
        if name in self._source.symbols:
            return self._source.symbols[name]
        raise Unresolved(f"symbol '{name}' has no absolute value in this file")

    def _assigned(self, index: int) -> int:
        known = self._values.get(index)
        if known is None:
            raise _NeedsAssignment(index)
        if isinstance(known, str):
            raise Unresolved(known)
        return known

    def _next_free(self, name: str, assigned: int | None, at: int) -> int:
        highest = 0 if assigned is None else self._assigned(assigned)
        prefix = _COUNTERS[name]
        named = re.compile(rf"(?<![\w.$@]){prefix}(?:(\d+)\b|\[([^\]:]+)(?::([^\]]+))?\])")
        for index in range(0 if assigned is None else assigned, at):
            statement = self._source.statements[index]
            if statement.kind is Kind.INSTRUCTION:
                for match in named.finditer(statement.rest):
                    last = match[1] or match[3] or match[2]
                    highest = max(highest, (int(last) if last.isdecimal() else self._parse(last, index)) + 1)
        return highest

    def _call(self, name: str, arguments: Sequence[int]) -> int:
        """The functions of LLVM's AMDGPUMCExpr."""
        function = _FUNCTIONS.get(name)
        if function is None:
            raise Unresolved(f"function '{name}' is not known")
        count, compute = function
        if count is not None and len(arguments) != count:
            raise Unresolved(f"function '{name}' takes {count} arguments, {len(arguments)} given")
        return compute(self._target, arguments)


def _assigned_text(statement: Statement) -> str:
    return statement.rest.strip().lstrip(",=").strip()


def _occupancy(target: Target | None, arguments: Sequence[int]) -> int:
    """``occupancy(max waves, granule, file, generation, start, SGPRs, VGPRs)``
    (AMDGPUMCExpr::evaluateOccupancy)."""
    max_waves, granule, file, _, occupancy, sgprs, vgprs = arguments
    if sgprs:
        steps = resource_limits(_known(target, "occupancy")).sgpr.waves_by_count
        allowed = [waves for most, waves in steps if most is None or sgprs <= most]
        occupancy = min([occupancy, max_waves, *allowed[:1]])
    if vgprs and granule > 0:
        rounded = -(-vgprs // granule) * granule
        occupancy = min(occupancy, max_waves if vgprs < granule else min(max(file // rounded, 1), max_waves))
    return occupancy


def _extra(target: Target | None, arguments: Sequence[int]) -> int:
    vcc, flat_scratch, xnack = arguments
    return extra_sgprs(_known(target, "extrasgprs"), bool(vcc), bool(flat_scratch), bool(xnack))


def _total(target: Target | None, arguments: Sequence[int]) -> int:
    agprs, vgprs = arguments
    return total_vgprs(_known(target, "totalnumvgprs"), vgprs, agprs)


def _known(target: Target | None, function: str) -> Target:
    if target is None:
        raise Unresolved(f"{function}() depends on the target, which is not known")
    return target


def _align(_: Target | None, arguments: Sequence[int]) -> int:
    value, alignment = arguments
    if alignment <= 0:
        raise Unresolved("alignto() to an alignment that is not positive")
    return -(-value // alignment) * alignment


def _or(_: Target | None, arguments: Sequence[int]) -> int:
    result = 0
    for argument in arguments:
        result |= argument
    return result


_FUNCTIONS: dict[str, tuple[int | None, Callable[[Target | None, Sequence[int]], int]]] = {
    "max": (None, lambda _, arguments: max(arguments)),
    "or": (None, _or),
    "alignto": (2, _align),
    "extrasgprs": (3, _extra),
    "totalnumvgprs": (2, _total),
    "occupancy": (7, _occupancy),
}


class _Parser:
    """One expression: tokens, then precedence climbing; values wrap at 64 bits as MCExpr's do."""

    def __init__(self, text: str, symbol: Callable[[str], int], call: Callable[[str, Sequence[int]], int]) -> None:
        self._text = text
        self._symbol = symbol
        self._call = call
        self._depth = 0
        self._tokens = _tokens(text)
        self._next = 0

    def value(self) -> int:
        result = self._binary(1)
        if self._next < len(self._tokens):
            raise Unresolved(f"'{self._text}' is no absolute expression")
        return result

    def _peek(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def _take(self, expected: str | None = None) -> tuple[str, str]:
        if self._next >= len(self._tokens) or (expected and self._tokens[self._next][1] != expected):
            raise Unresolved(f"'{self._text}' is no absolute expression")
        self._next += 1
        return self._tokens[self._next - 1]

    def _binary(self, least: int) -> int:
        left = self._unary()
        while (strength := _PRECEDENCE.get(self._peek(), 0)) >= least:
            operator = self._take()[1]
            left = _signed(_apply(operator, left, self._binary(strength + 1)))
        return left

    def _unary(self) -> int:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unresolved(f"an expression is nested deeper than {MAX_DEPTH}")
        try:
            return self._primary()
        finally:
            self._depth -= 1

    def _primary(self) -> int:
        kind, text = self._take()
        if kind == "number":
            return _signed(_number(text))
        if kind == "char":
            return ord(text[-2])
        if kind == "name":
            if self._peek() == "(":
                return self._function(text)
            return self._symbol(text.strip('"'))
        if text == "(":
            result = self._binary(1)
            self._take(")")
            return result
        if text == "-":
            return _signed(-self._unary())
        if text == "+":
            return self._unary()
        if text == "~":
            return ~self._unary()
        if text == "!":
            return int(not self._unary())
        raise Unresolved(f"'{self._text}' is no absolute expression")

    def _function(self, name: str) -> int:
        self._take("(")
        arguments = [self._binary(1)]
        while self._peek() == ",":
            self._take()
            arguments.append(self._binary(1))
        self._take(")")
        return _signed(self._call(name, arguments))


def _tokens(text: str) -> list[tuple[str, str]]:
    found = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise Unresolved(f"'{text}' is no absolute expression")
        found.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return found


def _number(text: str) -> int:
    if text[:2] in ("0x", "0X", "0b", "0B"):
        return int(text, 0)
    try:
        return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)
    except ValueError:
        raise Unresolved(f"'{text}' is no number") from None


def _signed(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _apply(operator: str, left: int, right: int) -> int:
    """One binary operator on signed 64-bit values; comparisons give -1 for true, as MCExpr does."""
    if operator in ("/", "%"):
        if right == 0:
            raise Unresolved("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise Unresolved(f"shift by {right}")
        return left << right if operator == "<<" else (left & ((1 << 64) - 1)) >> right
    return _PLAIN[operator](left, right)


_PLAIN: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "!": lambda a, b: a | ~b,
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
    "==": lambda a, b: -int(a == b),
    "!=": lambda a, b: -int(a != b),
    "<>": lambda a, b: -int(a != b),
    "<": lambda a, b: -int(a < b),
    "<=": lambda a, b: -int(a <= b),
    ">": lambda a, b: -int(a > b),
    ">=": lambda a, b: -int(a >= b),
}
