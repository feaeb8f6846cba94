"""The language in which the meaning of instructions is written: bit-vector terms, each kept once.

A term is a node of a graph in which equal nodes are the same object (hash consing): two computations that were
brought to the same node are equal for all inputs. Widths are 1 to 64 bits; a 1-bit term is a condition.

A term is *wave-wide* (the value of a scalar register) or *per lane* (the value of a vector register in one lane,
the same lane everywhere in the term). What looks at all lanes at once *binds* the lane: ``ballot`` collects a
condition over the lanes, and applications with ``binds`` see their arguments as functions of the lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from asmevo_gate.isa.registers import VECTOR

MAX_WIDTH = 64


class Symbol(NamedTuple):
    """A function symbol. ``binds``: its value in a lane depends on its arguments in other lanes."""

    name: str
    binds: bool = False


class Term:
    """One node. Compare with ``is``: each :class:`Terms` makes one object per distinct node.

    ``data`` depends on ``op``: the value of a ``const``, the name of a ``var``, ``(high, low)`` of an ``extract``,
    ``(coefficients, constant)`` of an ``add``, the :class:`Symbol` of an ``apply``.
    """

    __slots__ = ("args", "data", "id", "op", "width")

    def __init__(self, op: str, width: int, args: tuple[Term, ...], data: Any, number: int) -> None:
        self.op = op
        self.width = width
        self.args = args
        self.data = data
        self.id = number

    def __repr__(self) -> str:
        return write(self)


BINDERS = frozenset(("ballot", "read_lane"))
"""Operations that look at all lanes, besides applications with ``binds``."""


def binds(term: Term) -> bool:
    """True when the value in one lane depends on the arguments in other lanes."""
    return term.op in BINDERS or (term.op == "apply" and term.data.binds)


def write(term: Term, depth: int = 6) -> str:
    """A term for people, cut at ``depth``."""
    if term.op == "const":
        return hex(term.data)
    if term.op == "var":
        return str(term.data)
    if depth == 0:
        return "..."
    inner = ", ".join(write(arg, depth - 1) for arg in term.args)
    if term.op == "apply":
        return f"{term.data.name}({inner})"
    detail = "" if term.data is None else f"{list(term.data)}"
    return f"{term.op}{term.width}{detail}({inner})"


class Terms:
    """Makes terms exactly as asked for; :class:`asmevo_gate.proof.normal_form.NormalTerms` simplifies as well."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, tuple[Term, ...], Any], Term] = {}
        self._constants: dict[tuple[int, int], Term] = {}

    def __len__(self) -> int:
        return len(self._known)

    def make(self, op: str, width: int, args: tuple[Term, ...] = (), data: Any = None) -> Term:
        """The node itself, without any simplification."""
        key = (op, width, args, data)
        term = self._known.get(key)
        if term is None:
            term = self._known[key] = Term(op, width, args, data, len(self._known))
        return term

    def var(self, name: Any, width: int) -> Term:
        """A free variable: the value of ``name`` at the start of the block."""
        return self.make("var", width, (), name)

    def const(self, value: int, width: int) -> Term:
        """A number, taken modulo 2^width."""
        value &= (1 << width) - 1
        term = self._constants.get((value, width))
        if term is None:
            term = self._constants[value, width] = self.make("const", width, (), value)
        return term

    @property
    def true(self) -> Term:
        """The condition that always holds."""
        return self.const(1, 1)

    @property
    def false(self) -> Term:
        """The condition that never holds."""
        return self.const(0, 1)

    # Arithmetic, modulo 2^width.

    def linear(self, width: int, parts: Iterable[tuple[int, Term]], constant: int = 0) -> Term:
        """``constant`` plus the sum of coefficient times term."""
        pairs = tuple(parts)
        mask = (1 << width) - 1
        coefficients = tuple(coefficient & mask for coefficient, _ in pairs)
        return self.make("add", width, tuple(term for _, term in pairs), (coefficients, constant & mask))

    def add(self, *terms: Term) -> Term:
        """Sum."""
        return self.linear(terms[0].width, [(1, term) for term in terms])

    def sub(self, left: Term, right: Term) -> Term:
        """Difference."""
        return self.linear(left.width, [(1, left), (-1, right)])

    def mul(self, left: Term, right: Term) -> Term:
        """Product."""
        return self.make("mul", left.width, (left, right))

    # Bits.

    def and_(self, *terms: Term) -> Term:
        """Bitwise and."""
        return self.make("and", terms[0].width, terms)

    def or_(self, *terms: Term) -> Term:
        """Bitwise or."""
        return self.make("or", terms[0].width, terms)

    def xor(self, *terms: Term) -> Term:
        """Bitwise exclusive or."""
        return self.make("xor", terms[0].width, terms)

    def not_(self, term: Term) -> Term:
        """Bitwise complement; of a condition, its negation."""
        return self.xor(term, self.const(-1, term.width))

    def shl(self, term: Term, amount: Term) -> Term:
        """Shift left; 0 from ``amount`` = width on."""
        return self.make("shl", term.width, (term, amount))

    def lshr(self, term: Term, amount: Term) -> Term:
        """Shift right, zeros enter; 0 from ``amount`` = width on."""
        return self.make("lshr", term.width, (term, amount))

    def ashr(self, term: Term, amount: Term) -> Term:
        """Shift right, the sign enters; all signs from ``amount`` = width on."""
        return self.make("ashr", term.width, (term, amount))

    def concat(self, *parts: Term) -> Term:
        """Bits of all parts, the first one highest."""
        return self.make("concat", sum(part.width for part in parts), parts)

    def extract(self, term: Term, high: int, low: int) -> Term:
        """Bits ``high`` down to ``low``."""
        return self.make("extract", high - low + 1, (term,), (high, low))

    def zext(self, term: Term, width: int) -> Term:
        """Zeros above."""
        return term if term.width == width else self.concat(self.const(0, width - term.width), term)

    def sext(self, term: Term, width: int) -> Term:
        """Copies of the sign above."""
        return term if term.width == width else self.make("sext", width, (term,))

    def count_ones(self, term: Term) -> Term:
        """Number of set bits, in the width of the term."""
        return self.make("count_ones", term.width, (term,))

    def leading_zeros(self, term: Term) -> Term:
        """Zeros above the highest set bit; the width for 0."""
        return self.make("leading_zeros", term.width, (term,))

    def trailing_zeros(self, term: Term) -> Term:
        """Zeros below the lowest set bit; the width for 0."""
        return self.make("trailing_zeros", term.width, (term,))

    def reverse(self, term: Term) -> Term:
        """Bits in reverse order."""
        return self.make("reverse", term.width, (term,))

    # Conditions.

    def eq(self, left: Term, right: Term) -> Term:
        """Equal."""
        return self.make("eq", 1, (left, right))

    def ult(self, left: Term, right: Term) -> Term:
        """Less, unsigned."""
        return self.make("ult", 1, (left, right))

    def slt(self, left: Term, right: Term) -> Term:
        """Less, signed."""
        return self.make("slt", 1, (left, right))

    def ite(self, condition: Term, then: Term, other: Term) -> Term:
        """``then`` where the condition holds, else ``other``."""
        return self.make("ite", then.width, (condition, then, other))

    # Lanes.

    def lane_bit(self, mask: Term) -> Term:
        """This lane's bit of a wave-wide mask."""
        return self.make("lane_bit", 1, (mask,))

    def ballot(self, condition: Term, wave_size: int) -> Term:
        """The mask of the lanes in which the condition holds."""
        return self.make("ballot", wave_size, (condition,))

    def read_lane(self, value: Term, index: Term) -> Term:
        """The value in the lane with a given number."""
        return self.make("read_lane", value.width, (value, index))

    @property
    def lane(self) -> Term:
        """The number of this lane."""
        return self.make("lane", 32)

    def apply(self, name: str, width: int, args: tuple[Term, ...], binds: bool = False) -> Term:
        """The value of a function of which only the evaluator knows more than the name."""
        return self.make("apply", width, args, Symbol(name, binds))


def post_order(roots: Iterable[Term]) -> list[Term]:
    """Every node below the roots, arguments before what uses them."""
    seen: set[Term] = set()
    order: list[Term] = []
    for root in roots:
        stack: list[tuple[Term, bool]] = [(root, False)]
        while stack:
            term, expanded = stack.pop()
            if expanded:
                order.append(term)
            elif term not in seen:
                seen.add(term)
                stack.append((term, True))
                stack.extend((arg, False) for arg in term.args if arg not in seen)
    return order


def wave_wide(term: Term) -> bool:
    """True when the term surely has the same value in all lanes: it names no vector register and no lane outside of
    what binds the lane."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "lane" or node.op == "lane_bit":
            return False
        if node.op == "var" and isinstance(node.data, int) and node.data >= 0 and VECTOR >> node.data & 1:
            return False
        if node.op == "apply" and node.data.binds:
            return False
        if node.op not in BINDERS:
            stack.extend(node.args)
    return True
