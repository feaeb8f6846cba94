"""Hostile files: a message that names the limit, within bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from asmevo_gate.errors import LimitError
from asmevo_gate.source.options import SourceLimits, SourceOptions
from asmevo_gate.source.parser import parse_source

SMALL = SourceOptions(limits=msgspec.structs.replace(SourceLimits(), statements=20_000, expanded_characters=200_000))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param(".rept 1000000\n.rept 1000000\ns_nop 0\n.endr\n.endr\n", "statements", id="nested repetition"),
        pytest.param(".rept 100000000000\n// nothing\n.endr\n", "statements", id="repeated comment"),
        pytest.param(".rept 1000000\n.if 0\n.endif\n.endr\n", "statements", id="repeated conditional"),
        pytest.param(".irpc c, " + "x" * 30_000 + "\ns_nop 0\n.endr\n", "statements", id="long word"),
        pytest.param(".macro m\nm\n.endm\nm\n", "macro_depth", id="recursive macro"),
        pytest.param(
            ".macro a\nb\n.endm\n.macro b\n.rept 2\na\n.endr\n.endm\na\n", "macro_depth", id="mutual recursion"
        ),
        pytest.param(
            "".join(f".macro m{i} a\nm{i + 1} \\a\\a\nm{i + 1} \\a\\a\n.endm\n" for i in range(18)) + "m0 abcdefgh\n",
            "expanded_characters",
            id="argument that doubles",
        ),
        pytest.param("x = " + "(" * 5000 + "1" + ")" * 5000 + "\n", "expression_depth", id="parentheses"),
        pytest.param("x = " + "-" * 50_000 + "1\n", "expression_terms", id="unary operators"),
        pytest.param("x = " + "1+" * 50_000 + "1\n", "expression_terms", id="long sum"),
        pytest.param("a = 1\nv_mov_b32 " + "a+(" * 5000 + "\n", "expression_depth", id="operand parentheses"),
        pytest.param(
            "".join(f"x{i} = x{i + 1}+x{i + 1}\n" for i in range(500)) + "x500 = 1\ns_nop x0\n",
            "expression_depth",
            id="symbols that stand for each other",
        ),
        pytest.param("s_nop " + "x" * 300_000 + "\n", "line_characters", id="long line"),
        pytest.param("= \n" * 2000, "problems", id="many problems"),
        pytest.param("s_nop 0\n" * 30_000, "statements", id="many statements"),
    ],
)
def test_the_message_names_the_limit(text: str, limit: str) -> None:
    started = time.monotonic()
    with pytest.raises(LimitError, match=f"limit {limit}"):
        parse_source("hostile.s", text, SMALL)
    assert time.monotonic() - started < 10


def test_a_file_of_100_megabytes_is_refused_at_once() -> None:
    text = "s_nop 0\n" * 13_000_000
    started = time.monotonic()
    with pytest.raises(LimitError, match=r"huge\.s: .*limit text_characters"):
        parse_source("huge.s", text)
    assert time.monotonic() - started < 1


def test_time_is_limited() -> None:
    options = SourceOptions(limits=msgspec.structs.replace(SourceLimits(), seconds=0.05))
    with pytest.raises(LimitError, match="limit seconds"):
        parse_source("slow.s", ".rept 1000000\n.rept 100\ns_nop 0\n.endr\n.endr\n", options)


def test_a_repetition_without_body_costs_nothing() -> None:
    assert parse_source("k.s", ".rept 100000000000\n.endr\n").problems == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("/* " * 100_000, "unterminated comment", id="comments"),
        pytest.param("/*\n" * 100_000, "unterminated comment", id="comment over lines"),
        pytest.param('/* " */ "\n' * 20_001, "unterminated string", id="comments in strings"),
        pytest.param('"\n' * 20_001, "unterminated string", id="strings"),
        pytest.param('.ascii "' + "\\" * 100_001 + "\n", "unterminated string", id="backslashes"),
        pytest.param(".if 1\n" * 50_000, "has no '.endif'", id="conditionals"),
        pytest.param("x = " + "9" * 200_000 + "\n", "does not fit 64 bits", id="decimal number"),
        pytest.param("x = 0x" + "9" * 200_000 + "\n", "does not fit 64 bits", id="hexadecimal number"),
        pytest.param(".macro m\n" * 20_000, "without '.endm'", id="macros that never end"),
        pytest.param("a = b\nb = a\n.if a\n.endif\n", "not known here", id="symbols in a circle"),
        pytest.param(".macro m a\n.endm\nm " + "1 " * 100_000, "too many positional", id="arguments"),
    ],
)
def test_hostile_text_ends_in_a_problem(text: str, message: str) -> None:
    started = time.monotonic()
    source = parse_source("hostile.s", text)
    assert message in " ".join(problem.message for problem in source.problems)
    assert time.monotonic() - started < 15


def test_expressions_that_overflow_wrap_to_64_bits() -> None:
    text = "a = 0x7fffffffffffffff + 1\nb = 0x8000000000000000 / -1\nc = 1 << 0x7fffffffffffffff\nd = -1 * a\n"
    symbols = parse_source("k.s", text).symbols
    assert symbols["a"] == symbols["b"] == symbols["c"] == symbols["d"] == -(1 << 63)


def test_memory_stays_below_a_gibibyte(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="needs the resource module of Unix")
    del resource
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from asmevo_gate.errors import LimitError\n"
        "from asmevo_gate.source.parser import parse_source\n"
        "try:\n"
        "    parse_source('k.s', '.rept 1000000\\n.rept 1000000\\nv_mov_b32 v0, v1\\n.endr\\n.endr\\n')\n"
        "except LimitError as error:\n"
        "    print(error)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=root)
    assert "limit" in done.stdout, done.stderr
