"""A sample of damaged waits of compiled kernels: none that makes the kernel wrong is missed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source
from tests.mutation.wait_mutants import tally
from tests.oracles.compiled_kernels import COMPILER, compiled_kernels, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason=f"needs {COMPILER}")


def functions(gpu: str, limit: int) -> Iterator[Function]:
    for kernel in compiled_kernels(limit, [gpu]):
        yield from build_program(parse_source(kernel.name, kernel.text), find_target(gpu)).functions


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200", "gfx1250"])
def test_a_wait_that_is_too_weak_is_found(gpu: str) -> None:
    counts, missed = tally(functions(gpu, 25), wanted=120, seed=1, per_function=10)
    assert missed == []
    assert counts["mutants"] >= 100
    assert counts["found"] > counts["mutants"] / 2
