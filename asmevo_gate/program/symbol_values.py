"""Values of expressions that wait for the end of the file or for the target.

Compilers write resource counts over symbols that are defined later, with functions that depend on the target (LLVM
AMDGPUMCExpr): ``.amdhsa_next_free_vgpr max(totalnumvgprs(k.num_agpr, k.num_vgpr), 1, 0)``. Symbols with a value at the
place of their use are replaced before (:mod:`asmevo_gate.source.symbols`); what is left has its value at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.errors import LimitError
from asmevo_gate.isa.resource_limits import extra_sgprs, resource_limits, total_vgprs
from asmevo_gate.isa.targets import Target
from asmevo_gate.source.expressions import ExpressionError, Functions, UnresolvedError, evaluate, parse_expression
from asmevo_gate.source.options import SourceLimits
from asmevo_gate.source.statement import Kind, Source


class _NeedsSymbol(UnresolvedError):
    """The symbol is assigned in the file and has to be evaluated first."""


class SymbolValues:
    """Evaluates expressions with the symbols of one file as they are at its end.

    ``target`` gives the register facts that ``extrasgprs`` and others need; without it those have no value.
    """

    def __init__(self, source: Source, target: Target | None = None) -> None:
        self._values: dict[str, int | str] = dict(source.symbols)
        self._assignments = {
            statement.name: statement.rest
            for statement in source.besides_instructions
            if statement.kind is Kind.ASSIGNMENT and statement.name not in source.symbols
        }
        self._functions = _target_functions(target) if target else {}
        self._limits = SourceLimits()

    def evaluate(self, expression: str) -> int:
        """The value of an absolute expression.

        Raises:
            ExpressionError: it is no expression, or a symbol or function in it has no value.
        """
        while True:
            try:
                return self._evaluate(expression)
            except _NeedsSymbol as need:
                self._settle(need.symbol)

    def _evaluate(self, expression: str) -> int:
        try:
            parsed = parse_expression(expression, 0, self._limits)
        except LimitError as limit:
            raise ExpressionError(limit.message) from None
        if expression[parsed.end :].strip():
            raise ExpressionError(f"'{expression}' is no absolute expression")
        return evaluate(parsed.postfix, self._lookup, self._functions)

    def _lookup(self, name: str) -> int:
        value = self._values.get(name)
        if isinstance(value, int):
            return value
        if value is not None:
            raise ExpressionError(value)
        raise _NeedsSymbol(name) if name in self._assignments else UnresolvedError(name)

    def _settle(self, name: str) -> None:
        """Evaluate a symbol and, before it, those that it needs. A list of open symbols instead of recursion: a chain
        of symbols may be as long as the file. A symbol without a value keeps the reason."""
        pending = [name]
        while pending:
            current = pending[-1]
            try:
                self._values[current] = self._evaluate(self._assignments[current])
            except _NeedsSymbol as need:
                if need.symbol not in pending:
                    pending.append(need.symbol)
                    continue
                self._values[current] = f"symbol '{current}' is defined by itself"
            except ExpressionError as reason:
                self._values[current] = str(reason)
            pending.pop()


def _target_functions(target: Target) -> Functions:
    """The functions of AMDGPUMCExpr whose value depends on the target, with the number of their arguments checked."""
    functions: dict[str, tuple[int, Callable[[list[int]], int]]] = {
        "extrasgprs": (3, lambda given: extra_sgprs(target, *(bool(flag) for flag in given))),
        "totalnumvgprs": (2, lambda given: total_vgprs(target, vgprs=given[1], agprs=given[0])),
        "occupancy": (7, lambda given: _occupancy(target, given)),
    }
    return {name: _checked(name, *function) for name, function in functions.items()}


def _checked(name: str, count: int, compute: Callable[[list[int]], int]) -> Callable[[list[int]], int]:
    def call(given: list[int]) -> int:
        if len(given) != count:
            raise ExpressionError(f"{name}() takes {count} arguments, {len(given)} given")
        return compute(given)

    return call


def _occupancy(target: Target, given: list[int]) -> int:
    """``occupancy(max waves, granule, file, generation, start, SGPRs, VGPRs)`` (AMDGPUMCExpr::evaluateOccupancy)."""
    max_waves, granule, file, _, occupancy, sgprs, vgprs = given
    if sgprs:
        steps = resource_limits(target).sgpr.waves_by_count
        allowed = [waves for most, waves in steps if most is None or sgprs <= most]
        occupancy = min([occupancy, max_waves, *allowed[:1]])
    if vgprs and granule > 0:
        rounded = -(-vgprs // granule) * granule
        occupancy = min(occupancy, max_waves if vgprs < granule else min(max(file // rounded, 1), max_waves))
    return occupancy
