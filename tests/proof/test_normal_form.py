"""The normal form never changes a value: random terms, made with and without it, evaluated on the same inputs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.proof import solver
from asmevo_gate.proof.evaluate import Evaluation, Wavefronts
from asmevo_gate.proof.normal_form import NormalTerms, transfer
from asmevo_gate.proof.terms import Term, Terms

WIDTHS = (1, 8, 16, 32, 33, 64)
REGISTERS = (0, 1, 2, 1280, 1281)


class _Twins:
    """The same random computation in both kinds of terms."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.makers: tuple[Terms, Terms] = (Terms(), NormalTerms())
        self.values: dict[int, list[tuple[Term, Term]]] = {}
        for register in REGISTERS:
            self._add([terms.var(register, 32) for terms in self.makers])

    def _add(self, pair: list[Term]) -> None:
        self.values.setdefault(pair[0].width, []).append((pair[0], pair[1]))

    def pick(self, width: int) -> tuple[Term, Term]:
        """A value of that width: known, a constant, or cut from another."""
        rng = self.rng
        known = self.values.get(width)
        if known and rng.random() < 0.75:
            return rng.choice(known)
        if rng.random() < 0.4:
            value = rng.choice((0, 1, -1, 2, 1 << width - 1, (1 << width // 2) - 1, rng.getrandbits(width)))
            return self.makers[0].const(value, width), self.makers[1].const(value, width)
        source = rng.choice(self.values[32])
        if width <= 32:
            low = rng.randrange(33 - width)
            pair = [terms.extract(one, low + width - 1, low) for terms, one in zip(self.makers, source, strict=True)]
        elif rng.random() < 0.5:
            pair = [terms.zext(one, width) for terms, one in zip(self.makers, source, strict=True)]
        else:
            pair = [terms.sext(one, width) for terms, one in zip(self.makers, source, strict=True)]
        return pair[0], pair[1]

    def grow(self) -> None:
        """One more operation."""
        rng = self.rng
        width = rng.choice(WIDTHS)
        name = rng.choice(
            ("add", "sub", "mul", "and_", "or_", "xor", "not_", "shl", "lshr", "ashr", "ite", "eq", "ult", "slt",
             "concat", "count_ones", "leading_zeros", "trailing_zeros", "reverse", "extract", "lane_bit", "ballot")
        )  # fmt: skip
        if name == "concat":
            halves = [self.pick(16), self.pick(16)]
            self._apply("concat", halves)
        elif name == "extract":
            source = self.pick(rng.choice((32, 33, 64)))
            high = rng.randrange(source[0].width)
            low = rng.randrange(high + 1)
            self._add([terms.extract(one, high, low) for terms, one in zip(self.makers, source, strict=True)])
        elif name == "lane_bit":
            mask = self.pick(64)
            self._add([terms.lane_bit(one) for terms, one in zip(self.makers, mask, strict=True)])
        elif name == "ballot":
            condition = self.pick(1)
            self._add([terms.ballot(one, 64) for terms, one in zip(self.makers, condition, strict=True)])
        elif name == "ite":
            self._apply("ite", [self.pick(1), self.pick(width), self.pick(width)])
        elif name in ("not_", "count_ones", "leading_zeros", "trailing_zeros", "reverse"):
            self._apply(name, [self.pick(width)])
        else:
            self._apply(name, [self.pick(width), self.pick(width)])

    def _apply(self, name: str, pairs: list[tuple[Term, Term]]) -> None:
        made = [getattr(terms, name)(*(pair[side] for pair in pairs)) for side, terms in enumerate(self.makers)]
        assert made[0].width == made[1].width
        self._add(made)


def _scalar(term: Term, evaluation: Evaluation) -> bool:
    """lane_bit takes wave-wide masks only: everything else about a per-lane one is undefined."""
    return evaluation.value(term).shape[1] == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 40))
def test_the_normal_form_keeps_every_value(seed: int) -> None:
    twins = _Twins(random.Random(seed))
    for _ in range(40):
        twins.grow()
    wavefronts = Wavefronts(6, 64, seed & 0xFFFF)
    plain, normal = Evaluation(wavefronts), Evaluation(wavefronts)
    for pairs in twins.values.values():
        for one, two in pairs:
            if any(node.op == "lane_bit" and not _scalar(node.args[0], plain) for node in _nodes(one)):
                continue
            left, right = np.broadcast_arrays(plain.value(one), normal.value(two))
            assert (left == right).all(), (one, two)


def _nodes(root: Term) -> list[Term]:
    seen: list[Term] = []
    stack = [root]
    while stack:
        term = stack.pop()
        if term not in seen:
            seen.append(term)
            stack.extend(term.args)
    return seen


_NOT_ASKED = ("lane_bit", "ballot", "mul", "count_ones", "leading_zeros", "trailing_zeros", "reverse")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 40))
@pytest.mark.skipif(not solver.available(), reason="bitwuzla is not installed")
def test_the_solver_finds_no_fault_in_the_normal_form(seed: int) -> None:
    twins = _Twins(random.Random(seed))
    for _ in range(12):
        twins.grow()
    for width, pairs in twins.values.items():
        if width not in (1, 16, 32):
            continue
        one, two = pairs[-1]
        if any(node.op in _NOT_ASKED for node in [*_nodes(one), *_nodes(two)]):
            continue
        rebuilt = transfer(two, twins.makers[0], {})
        assert solver.equal(one, rebuilt, 500).equal is not False


def test_equal_computations_become_one_term() -> None:
    terms = NormalTerms()
    a, b, c = (terms.var(register, 32) for register in (0, 1, 2))
    two = terms.const(2, 32)
    assert terms.add(a, terms.add(b, c)) is terms.add(terms.add(c, a), b)
    assert terms.mul(two, terms.add(a, b)) is terms.add(a, b, b, a)
    assert terms.shl(a, two) is terms.mul(a, terms.const(4, 32))
    assert terms.xor(a, b, a) is b
    assert terms.sub(a, a) is terms.const(0, 32)
    assert terms.not_(terms.not_(a)) is a
    assert terms.and_(a, terms.or_(a, b)) is a
    assert terms.or_(a, terms.not_(a)) is terms.const(-1, 32)
    assert terms.concat(terms.extract(a, 31, 16), terms.extract(a, 15, 0)) is a
    assert terms.add(terms.not_(a), terms.const(1, 32)) is terms.sub(terms.const(0, 32), a)
    assert terms.lane_bit(terms.ballot(terms.eq(a, b), 64)) is terms.eq(a, b)
