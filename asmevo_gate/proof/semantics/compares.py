"""Vector comparisons: integer, float, class."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.terms import Term

Relation = Callable[[Call, Term, Term], Term]


def _not(relation: Relation) -> Relation:
    return lambda call, a, b: call.terms.not_(relation(call, a, b))


def swapped(relation: Relation) -> Relation:
    """The relation with its sides exchanged."""
    return lambda call, a, b: relation(call, b, a)


def equal(call: Call, a: Term, b: Term) -> Term:
    """a == b"""
    return call.terms.eq(a, b)


def less(call: Call, a: Term, b: Term) -> Term:
    """a < b, unsigned"""
    return call.terms.ult(a, b)


def less_signed(call: Call, a: Term, b: Term) -> Term:
    """a < b, signed"""
    return call.terms.slt(a, b)


def integer_relations(less_than: Relation) -> dict[str, Relation]:
    """Name in the mnemonic -> relation."""
    return {
        "eq": equal, "ne": _not(equal), "lt": less_than, "gt": swapped(less_than),
        "ge": _not(less_than), "le": _not(swapped(less_than)),
    }  # fmt: skip


def _always(value: int) -> Relation:
    return lambda call, a, b: call.terms.const(value, 1)


def float_relations(kind: str) -> dict[str, Relation]:
    """All sixteen; each is a function of equal, less and unordered, which see denormals as MODE says."""

    def basic(name: str) -> Relation:
        return lambda call, a, b: call.terms.apply(f"fcmp_{name}.{kind}", 1, (a, b, call.mode))

    def either(one: Relation, two: Relation) -> Relation:
        return lambda call, a, b: call.terms.or_(one(call, a, b), two(call, a, b))

    eq, lt, unordered = basic("eq"), basic("lt"), basic("unordered")
    gt = swapped(lt)
    le, ge, lg = either(lt, eq), either(gt, eq), either(lt, gt)
    return {
        "f": _always(0), "lt": lt, "eq": eq, "le": le, "gt": gt, "lg": lg, "ge": ge, "o": _not(unordered),
        "u": unordered, "nge": _not(ge), "nlg": _not(lg), "ngt": _not(gt), "nle": _not(le), "neq": _not(eq),
        "nlt": _not(lt), "tru": _always(1), "t": _always(1),
    }  # fmt: skip


def _meaning(relation: Relation) -> Meaning:
    def compare(call: Call, a: Term, b: Term) -> Term:
        return relation(call, a, b)

    return compare


def _class_meaning(kind: str) -> Meaning:
    def compare(call: Call, a: Term, classes: Term) -> Term:
        return call.terms.apply(f"fclass.{kind}", 1, (a, classes))

    return compare


def _register() -> None:
    for width in (16, 32, 64):
        for letter, less_than in (("u", less), ("i", less_signed)):
            kind = f"{letter}{width}"
            relations = integer_relations(less_than) | {"f": _always(0), "t": _always(1)}
            for name, relation in relations.items():
                operation(f"v_cmp_{name}_{kind} v_cmpx_{name}_{kind}", "mask", f"{kind} {kind}")(_meaning(relation))
        kind = f"f{width}"
        for name, relation in float_relations(kind).items():
            operation(f"v_cmp_{name}_{kind} v_cmpx_{name}_{kind}", "mask", f"{kind} {kind}")(_meaning(relation))
        operation(f"v_cmp_class_{kind} v_cmpx_class_{kind}", "mask", f"{kind} u32")(_class_meaning(kind))


_register()
