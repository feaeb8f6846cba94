"""Compiler output waits as the hardware needs: the wait rules find no error in it."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from tests.oracles.compiled_kernels import COMPILER, compiled_kernels, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason=f"needs {COMPILER}")


def test_no_error_in_compiler_output() -> None:
    wrong = []
    functions = 0
    for kernel in compiled_kernels(limit=250):
        for function in build_program(parse_source(kernel.name, kernel.text), find_target(kernel.gpu)).functions:
            functions += 1
            memory = pending_memory(function)
            for race in memory.races:
                if race.certain:
                    texts = [function.instructions[index].statement.text for index in (race.producer, race.consumer)]
                    wrong.append(f"{kernel.gpu} {kernel.name} {function.name}: {race.access} {' -> '.join(texts)}")
    assert wrong == []
    assert functions >= 250
