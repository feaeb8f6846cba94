"""Questions to bitwuzla: are two terms equal for all values of their variables?

What binds the lane, and the lane itself, become free constants; functions that only the evaluator knows become
uninterpreted ones. An answer "equal" therefore holds for every meaning of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from asmevo_gate.proof.terms import Term, binds, post_order


class Answer(NamedTuple):
    """``equal``: ``True`` proved, ``False`` a model says otherwise, ``None`` no answer in time. ``model`` maps
    variable names to values where the terms differ."""

    equal: bool | None
    model: dict[Any, int]


def available() -> bool:
    """True when bitwuzla is installed."""
    try:
        import bitwuzla  # noqa: F401
    except ImportError:
        return False
    return True


def equal(left: Term, right: Term, milliseconds: int, given: Term | None = None) -> Answer:
    """Whether ``left`` equals ``right`` wherever ``given`` holds.

    Raises:
        ImportError: bitwuzla is not installed.
    """
    import bitwuzla

    manager = bitwuzla.TermManager()
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    options.set(bitwuzla.Option.TIME_LIMIT_PER, milliseconds)
    solver = bitwuzla.Bitwuzla(manager, options)
    translation = _Translation(bitwuzla, manager)
    one, two = translation.term(left), translation.term(right)
    solver.assert_formula(manager.mk_term(bitwuzla.Kind.DISTINCT, [one, two]))
    if given is not None:
        condition = translation.term(given)
        solver.assert_formula(manager.mk_term(bitwuzla.Kind.EQUAL, [condition, translation.value(1, 1)]))
    result = solver.check_sat()
    if result == bitwuzla.Result.UNSAT:
        return Answer(True, {})
    if result != bitwuzla.Result.SAT:
        return Answer(None, {})
    model = {
        term.data: int(solver.get_value(constant).value(2), 2)
        for term, constant in translation.constants.items()
        if term.op == "var"
    }
    return Answer(False, model)


class _Translation:
    def __init__(self, bitwuzla: Any, manager: Any) -> None:
        self._bitwuzla = bitwuzla
        self._kind = bitwuzla.Kind
        self._manager = manager
        self._known: dict[Term, Any] = {}
        self._sorts: dict[int, Any] = {}
        self._functions: dict[tuple[str, tuple[int, ...]], Any] = {}
        self.constants: dict[Term, Any] = {}

    def term(self, root: Term) -> Any:
        for node in _outside_binders(root):
            if node not in self._known:
                self._known[node] = self._translate(node)
        return self._known[root]

    def value(self, number: int, width: int) -> Any:
        return self._manager.mk_bv_value(self._sort(width), number)

    def _sort(self, width: int) -> Any:
        if width not in self._sorts:
            self._sorts[width] = self._manager.mk_bv_sort(width)
        return self._sorts[width]

    def _translate(self, node: Term) -> Any:
        op, kind = node.op, self._kind
        if op == "const":
            return self.value(node.data, node.width)
        if op in ("var", "lane", "lane_bit") or binds(node):
            constant = self._manager.mk_const(self._sort(node.width), f"n{node.id}")
            self.constants[node] = constant
            return constant
        args = [self._known[arg] for arg in node.args]
        make = self._manager.mk_term
        if op == "add":
            return self._sum(node, args)
        if op in _CHAINS:
            return self._chain(getattr(kind, _CHAINS[op]), args)
        if op == "extract":
            return make(kind.BV_EXTRACT, args, list(node.data))
        if op == "sext":
            return make(kind.BV_SIGN_EXTEND, args, [node.width - node.args[0].width])
        if op in ("eq", "ult", "slt"):
            return self._bit(make(getattr(kind, _RELATIONS[op]), args))
        if op == "ite":
            return make(kind.ITE, [make(kind.EQUAL, [args[0], self.value(1, 1)]), args[1], args[2]])
        if op in _SHIFTS:
            return make(getattr(kind, _SHIFTS[op]), args)
        return self._function(node, args)

    def _sum(self, node: Term, args: list[Any]) -> Any:
        factors, constant = node.data
        kind, make = self._kind, self._manager.mk_term
        parts = [
            arg if factor == 1 else make(kind.BV_MUL, [arg, self.value(factor, node.width)])
            for factor, arg in zip(factors, args, strict=True)
        ]
        if constant or not parts:
            parts.append(self.value(constant, node.width))
        return self._chain(kind.BV_ADD, parts)

    def _chain(self, kind: Any, args: list[Any]) -> Any:
        result = args[0]
        for arg in args[1:]:
            result = self._manager.mk_term(kind, [result, arg])
        return result

    def _bit(self, condition: Any) -> Any:
        return self._manager.mk_term(self._kind.ITE, [condition, self.value(1, 1), self.value(0, 1)])

    def _function(self, node: Term, args: list[Any]) -> Any:
        """Applications and bit counts as uninterpreted functions."""
        name = node.data.name if node.op == "apply" else node.op
        if not args:
            key: tuple[str, tuple[int, ...]] = (name, (node.width,))
            if key not in self._functions:
                self._functions[key] = self._manager.mk_const(self._sort(node.width), f"c{node.id}")
            return self._functions[key]
        widths = (*[arg.width for arg in node.args], node.width)
        key = (name, widths)
        if key not in self._functions:
            domain = [self._sort(width) for width in widths[:-1]]
            sort = self._manager.mk_fun_sort(domain, self._sort(node.width))
            self._functions[key] = self._manager.mk_const(sort, f"f{node.id}")
        return self._manager.mk_term(self._kind.APPLY, [self._functions[key], *args])


_CHAINS = {"mul": "BV_MUL", "and": "BV_AND", "or": "BV_OR", "xor": "BV_XOR", "concat": "BV_CONCAT"}
_RELATIONS = {"eq": "EQUAL", "ult": "BV_ULT", "slt": "BV_SLT"}
_SHIFTS = {"shl": "BV_SHL", "lshr": "BV_SHR", "ashr": "BV_ASHR"}


def _outside_binders(root: Term) -> list[Term]:
    """The nodes that are translated, arguments first: what a binder hides is not looked at."""
    order: list[Term] = []
    seen: set[Term] = set()
    stack = [(root, False)]
    while stack:
        term, expanded = stack.pop()
        if expanded:
            order.append(term)
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            if not binds(term) and term.op != "lane_bit":
                stack.extend((arg, False) for arg in term.args)
    return order


def size(roots: list[Term]) -> int:
    """Number of distinct nodes below the roots."""
    return len(post_order(roots))
