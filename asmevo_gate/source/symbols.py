"""Symbols of one assembly: absolute values, expressions that wait for a value, labels, numeric labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

from asmevo_gate.errors import LimitError
from asmevo_gate.source.expressions import (
    ExpressionError,
    Postfix,
    UnresolvedError,
    bind,
    evaluate,
    names_in,
    parse_expression,
)
from asmevo_gate.source.options import SourceLimits

NEXT_FREE_VGPR = ".amdgcn.next_free_vgpr"
NEXT_FREE_SGPR = ".amdgcn.next_free_sgpr"

_TARGET_NAME = re.compile(r"gfx(?P<major>\d+)(?P<minor>[0-9a-f])(?P<stepping>[0-9a-f])(?![0-9a-f])")


def predefined_symbols(target: str) -> dict[str, int]:
    """The ``.amdgcn.gfx_generation_*`` symbols of a target id or triple; empty when it names no gfx processor.

    The digits of a processor's name are its major, minor and stepping version (AMDGPUUsage, "Predefined Symbols").
    """
    match = _TARGET_NAME.search(target)
    if not match:
        return {}
    return {
        ".amdgcn.gfx_generation_number": int(match["major"]),
        ".amdgcn.gfx_generation_minor": int(match["minor"], 16),
        ".amdgcn.gfx_generation_stepping": int(match["stepping"], 16),
    }


class SymbolTable:
    """The symbols as they are at one moment of the assembly.

    ``values`` holds the absolute ones.
    """

    def __init__(self, limits: SourceLimits, values: Mapping[str, int]) -> None:
        self.values: dict[str, int] = dict(values)
        self.names: set[str] = set(values)
        """Every symbol that has been assigned, with an absolute value or not."""
        self._limits = limits
        self._waiting: dict[str, Postfix] = {}
        self._resolved: dict[str, int] = {}
        """Values of waiting expressions, until the next assignment."""
        self._labels: set[str] = set()
        self._numeric: dict[str, int] = {}
        self._parsed: dict[str, Postfix] = {}

    def evaluate(self, text: str) -> int:
        """The value of a whole expression text.

        Raises:
            UnresolvedError: it depends on a symbol without an absolute value.
            ExpressionError: it is no expression, or divides by zero.
            LimitError: it passes a limit.
        """
        return evaluate(self._parse(text), self.lookup)

    def lookup(self, name: str) -> int:
        """The value of a symbol.

        Raises:
            UnresolvedError: it has no absolute value here.
        """
        value = self.values.get(name)
        if value is not None:
            return value
        if name not in self._waiting:
            raise UnresolvedError(name)
        return self._resolve(name)

    def defined(self, name: str) -> bool:
        """What ``.ifdef`` asks: an absolute symbol, a label that stands above, or an expression over those."""
        pending, seen = [name], {name}
        while pending:
            current = pending.pop()
            if current in self.values or current in self._labels:
                return True
            for inner in names_in(self._waiting.get(current, ())):
                if inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        return False

    def assign(self, name: str, text: str) -> None:
        """``name = text``: an absolute value where there is one, else the expression, evaluated when it is used.

        Raises:
            ExpressionError: the text is no expression.
            LimitError: the expression passes a limit.
        """
        postfix = self._parse(text)
        try:
            value = evaluate(postfix, self._constant)
        except UnresolvedError:
            self.values.pop(name, None)
            self._resolved.clear()
            self.names.add(name)
            self._waiting[name] = bind(postfix, self.values.get)
        else:
            self.set_value(name, value)

    def set_value(self, name: str, value: int) -> None:
        """Give a symbol an absolute value."""
        self._waiting.pop(name, None)
        self._resolved.clear()
        self.names.add(name)
        self.values[name] = value

    def is_label(self, name: str) -> bool:
        """True when a label of that name stands above."""
        return name in self._labels

    def is_symbol(self, name: str) -> bool:
        """True when the name has been assigned."""
        return name in self.values or name in self._waiting

    @property
    def waiting(self) -> bool:
        """True when a symbol stands for an expression that had no value when it was assigned."""
        return bool(self._waiting)

    def add_label(self, name: str) -> bool:
        """Define a label; False when the symbol exists already."""
        if name in self._labels or name in self.values or name in self._waiting:
            return False
        self._labels.add(name)
        return True

    def add_numeric_label(self, digits: str) -> str:
        """Define ``1:`` and give the unique name it stands for."""
        count = self._numeric.get(digits, 0) + 1
        self._numeric[digits] = count
        return f".Lnumeric_{digits}_{count}"

    def numeric_reference(self, reference: str) -> str:
        """The unique name that ``1b`` or ``1f`` means here."""
        digits = reference[:-1]
        count = self._numeric.get(digits, 0)
        return f".Lnumeric_{digits}_{count + (reference[-1] == 'f')}"

    def final_values(self) -> dict[str, int]:
        """All absolute values, the waiting expressions included that have one by now."""
        values = dict(self.values)
        for name in reversed(self._waiting):
            try:
                values[name] = self._resolve(name)
            except (ExpressionError, LimitError):
                continue
        return values

    def _parse(self, text: str) -> Postfix:
        postfix = self._parsed.get(text)
        if postfix is None:
            parsed = parse_expression(text, 0, self._limits)
            if text[parsed.end :].strip():
                raise ExpressionError(f"unexpected '{text[parsed.end :].strip()[:40]}' after the expression")
            postfix = parsed.postfix
            if len(self._parsed) > 20_000:
                self._parsed.clear()
            self._parsed[text] = postfix
        return postfix

    def _constant(self, name: str) -> int:
        value = self.values.get(name)
        return self.lookup(name) if value is None else value

    def _resolve(self, name: str) -> int:
        """Evaluate a waiting symbol without recursion: each symbol once, cycles refused."""
        known = self._resolved
        if name in known:
            return known[name]
        path: list[str] = [name]
        on_path = {name}
        while path:
            current = path[-1]
            postfix = self._waiting[current]
            missing = next((item for item in names_in(postfix) if item not in self.values and item not in known), None)
            if missing is None:
                known[current] = evaluate(
                    postfix, lambda item: self.values[item] if item in self.values else known[item]
                )
                on_path.discard(path.pop())
                continue
            if missing not in self._waiting or missing in on_path:
                raise UnresolvedError(missing)
            if len(path) >= self._limits.expression_depth:
                raise LimitError(
                    f"symbols stand for each other deeper than {self._limits.expression_depth} (limit expression_depth)"
                )
            path.append(missing)
            on_path.add(missing)
        return known[name]
