"""The other engines give the violations of the reference engine: on random streams, and on compiled kernels."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from asmevo_gate.constraints import onnx_engine, reference
from asmevo_gate.constraints.compiled_graph import compiled_graph
from asmevo_gate.constraints.files import constraint_directory, graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.graph_digest import graph_digest
from asmevo_gate.constraints.screened import Screen
from asmevo_gate.isa.targets import find_target, target_names
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source
from tests.constraints.edge_programs import texts
from tests.constraints.programs import kernel
from tests.oracles.generated_kernels import compile_module, compiler_version

_TARGETS = (("gfx906", 64), ("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1010", 32),
            ("gfx1100", 64), ("gfx1200", 32), ("gfx1250", 32))  # fmt: skip


def _agree(function: Function) -> int:
    graph = graph_for(function.target)
    expected = reference.violations(function, graph)
    assert onnx_engine.violations(function, graph) == expected
    assert Screen(FunctionView(function, graph)).violations() == expected
    return len(expected)


def _random_text(gpu: str, wave: int, seed: int) -> str:
    """Lines that are in some node, waits, jumps: dense in hazards and in control flow."""
    rng = random.Random(seed)
    known = [text for text, traits in texts(gpu, wave) if traits.nodes and ".Lend" not in text]
    waits = ["s_nop 0", "s_nop 1", "s_nop 7", "v_nop", "v_mov_b32 v77, v78"]
    lines: list[str] = []
    labels = rng.randint(1, 5)
    size = rng.randint(10, 60)
    for number in range(size):
        if rng.random() < labels / size:
            lines.append(f".L{number}:")
        roll = rng.random()
        lines.append(rng.choice(waits) if roll < 0.3 else rng.choice(known))
    placed = [line[:-1] for line in lines if line.startswith(".L")]
    for _ in range(min(len(placed), rng.randint(0, 4))):
        jump = rng.choice(("s_cbranch_scc0", "s_cbranch_scc1", "s_branch", "s_cbranch_vccz"))
        lines.insert(rng.randrange(len(lines) + 1), f"{jump} {rng.choice(placed)}")
    return "\n".join([*lines, "s_endpgm"])


@pytest.mark.parametrize(("gpu", "wave"), _TARGETS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 30))
def test_all_engines_give_the_same_violations_on_random_streams(gpu: str, wave: int, seed: int) -> None:
    _agree(kernel(gpu, _random_text(gpu, wave, seed), wave))


def test_random_streams_hold_many_violations() -> None:
    total = sum(_agree(kernel("gfx942", _random_text("gfx942", 64, seed), 64)) for seed in range(20))
    assert total > 100


@pytest.mark.skipif(compiler_version() is None, reason="llc-22 is not installed")
@pytest.mark.parametrize("gpu", ["gfx908", "gfx942", "gfx1100", "gfx1200", "gfx1250"])
def test_all_engines_give_the_same_violations_on_compiled_kernels_without_their_mitigations(gpu: str) -> None:
    module = compile_module(gpu, 7, "-O2")
    mitigations = ("s_nop", "v_nop", "s_waitcnt_depctr", "s_wait_alu")
    text = "\n".join(line for line in module.text.splitlines() if not line.strip().startswith(mitigations))
    program = build_program(parse_source("k.s", text), find_target(gpu), module.wave)
    assert sum(_agree(function) for function in program.functions) > 3


def test_a_model_names_the_graph_that_it_was_made_of() -> None:
    graph = graph_for(find_target("gfx942"))
    assert graph_digest(graph).encode() in compiled_graph(graph)
    assert graph_digest(graph) != graph_digest(graph_for(find_target("gfx90a")))


def test_a_jump_into_a_window_is_followed() -> None:
    text = "\n".join(
        ["s_branch .Lb", ".La:", "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "s_endpgm",
         ".Lb:", "v_mov_b32 v0, 1", "s_branch .La"]
    )  # fmt: skip
    assert _agree(kernel("gfx900", text)) == 1


@pytest.mark.parametrize("gpu", target_names())
def test_the_shipped_model_of_each_target_is_that_of_its_data(gpu: str) -> None:
    graph = graph_for(find_target(gpu))
    shipped = constraint_directory().joinpath("compiled").joinpath(f"{graph.name}.onnx")
    assert graph_digest(graph).encode() in shipped.read_bytes(), (
        "compile again: python -m asmevo_gate.constraints.compile_onnx constraints/compiled"
    )


def test_a_graph_compiles_to_the_same_bytes_in_every_process() -> None:
    program = (
        "import hashlib; from asmevo_gate.constraints.compile_onnx import compile_graph\n"
        "from asmevo_gate.constraints.files import graph_for; from asmevo_gate.isa.targets import find_target\n"
        "print(hashlib.sha256(compile_graph(graph_for(find_target('gfx1250')))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(digests) == 1
