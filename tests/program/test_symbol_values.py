"""Expressions of descriptor directives, as LLVM evaluates them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.symbol_values import SymbolValues
from asmevo_gate.source.expressions import ExpressionError
from asmevo_gate.source.parser import parse_source

MC = shutil.which("llvm-mc-22")


def evaluate(expression: str, text: str = "", gpu: str | None = "gfx90a") -> int:
    source = parse_source("k.s", text)
    target = find_target(gpu) if gpu else None
    return SymbolValues(source, target).evaluate(expression)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3 == 3", -1), ("1 && 2", 1), ("7 >> 1 + 1", 4), ("1 | 2 + 4", 7), ("-1 >> 60", 15), ("6 & 3 == 2", -1),
        ("2*3+4 << 1", 14), ("10 % 4 * 2", 4), ("!5", 0), ("5 ! 3", -3), ("1 || 0 && 0", 1), ("1 <> 2", -1),
        ("0b101 + 0x1f + 017 + 'a'", 148), ("-7 / 2", -3), ("-7 % 3", -1), ("max(1, 9, 3)", 9), ("or(4, 1)", 5),
        ("alignto(5,4)", 8), ("((2))*-~1", 4),
    ],
)  # fmt: skip
def test_operators_bind_as_in_llvm(expression: str, value: int) -> None:
    assert evaluate(expression) == value


def test_functions_of_the_target() -> None:
    assert evaluate("totalnumvgprs(3, 5)") == 11
    assert evaluate("totalnumvgprs(3, 5)", gpu="gfx908") == 5
    assert evaluate("extrasgprs(1, 0, 1)", gpu="gfx906") == 4
    assert evaluate("extrasgprs(0, 0, 0)", gpu="gfx942") == 6
    assert evaluate("extrasgprs(1, 1, 1)", gpu="gfx1100") == 2
    assert evaluate("occupancy(10, 4, 256, 8, 10, 90, 24)", gpu="gfx900") == 8
    with pytest.raises(ExpressionError, match="extrasgprs"):
        evaluate("extrasgprs(1, 0, 1)", gpu=None)


def test_symbols_have_their_last_value_and_may_need_the_target() -> None:
    text = ".set a, 5\n.set b, a+1\n.set a, 7\n.set c, totalnumvgprs(3, later)\n.set later, b\n"
    assert evaluate("b", text) == 6
    assert evaluate("a", text) == 7
    assert evaluate("c + 1", text) == 12
    with pytest.raises(ExpressionError, match="totalnumvgprs"):
        evaluate("c", text, gpu=None)


@pytest.mark.parametrize("expression", ["1 +", "nothing", "f(1)", "1 / 0", "(1", "09", "v[1]", "alignto(4, 0)", ""])
def test_what_has_no_value_is_unresolved_with_a_reason(expression: str) -> None:
    with pytest.raises(ExpressionError) as reason:
        evaluate(expression)
    assert str(reason.value)


def test_cycles_depth_and_long_chains_end() -> None:
    with pytest.raises(ExpressionError, match="itself"):
        evaluate("a", ".set a, b\n.set b, a\n")
    with pytest.raises(ExpressionError, match="nested"):
        evaluate("(" * 5000 + "1" + ")" * 5000)
    chain = "".join(f".set s{i}, s{i + 1}\n" for i in range(1000))
    with pytest.raises(ExpressionError):
        evaluate("s0", chain)
    assert evaluate("s0", chain + ".set s1000, extrasgprs(1, 1, 1)\n") == 6


OPERATORS = ["+", "-", "*", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!"]
EXPRESSIONS = st.recursive(
    st.integers(0, 2**31 - 1).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        st.tuples(st.sampled_from("-~+"), inner).map(lambda pair: f"{pair[0]}({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    ),
    max_leaves=8,
)


@pytest.mark.oracle
@pytest.mark.skipif(MC is None, reason="llvm-mc-22 is not installed")
@settings(max_examples=15, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=20, max_size=40))
def test_random_expressions_have_the_values_that_llvm_gives(expressions: list[str]) -> None:
    assert MC
    text = "".join(f".set s{i}, {e}\n.long (s{i}) & 0xffffffff\n" for i, e in enumerate(expressions))
    done = subprocess.run(
        [MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a"], input=text, capture_output=True, text=True, check=True
    )
    values = [int(value) for value in re.findall(r"\.long\s+(\d+)", done.stdout)]
    assert len(values) == len(expressions)
    assert [evaluate(expression) & 0xFFFFFFFF for expression in expressions] == values
