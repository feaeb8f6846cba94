"""``asmevo-gate explain`` and ``asmevo-gate graph``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from asmevo_gate.cli.explain import command as explain
from asmevo_gate.cli.graph import command as graph
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.graph_text import rule_ids, show
from asmevo_gate.constraints.reference import violations
from asmevo_gate.errors import UsageError
from asmevo_gate.isa.targets import find_target, target_names
from tests.constraints.programs import kernel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def said(*arguments: str) -> str:
    done = CliRunner().invoke(explain, list(arguments), standalone_mode=False, catch_exceptions=False)
    return done.output


def test_a_rule_is_explained_with_its_examples() -> None:
    text = said("cf.barrier_divergent")
    assert text.startswith("# cf.barrier_divergent")
    assert "s_barrier" in text


def test_a_hazard_is_explained_with_its_distance_on_a_gpu() -> None:
    text = said("haz.m0.sendmsg", "--gpu", "gfx90a")
    assert "## On gfx90a" in text
    assert "distance: 1 wait state" in text


def test_a_wait_is_explained_by_what_it_really_covers() -> None:
    text = said("--at", f"{EXAMPLES / 'kernels' / 'saxpy.s'}:27")
    assert "waits until vmcnt <= 0" not in text
    text = said("--at", f"{EXAMPLES / 'kernels' / 'saxpy.s'}:28")
    assert "waits until vmcnt <= 0" in text
    assert "completed by it: 2" in text
    assert "global_load_dword v8" in text


def test_a_fault_is_explained_at_its_line() -> None:
    text = said("--at", f"{EXAMPLES / 'change' / 'block_sum.s'}:29")
    assert "lgkmcnt must be at most 0 here" in text


@pytest.mark.parametrize("arguments", [["no.such.rule"], ["--at", "kernel.s"], [], ["--at", f"{__file__}:1"]])
def test_what_cannot_be_explained_is_an_error(arguments: list[str]) -> None:
    with pytest.raises(Exception, match=r".") as raised:
        said(*arguments)
    assert isinstance(raised.value, UsageError) or "GPU" in str(raised.value)


def test_the_shipped_constraint_files_are_valid() -> None:
    done = CliRunner().invoke(graph, ["check"], standalone_mode=False)
    assert (done.return_value, done.output) == (0, "every constraint file is valid\n")


def test_a_project_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"schema": "nonsense"}')
    done = CliRunner().invoke(graph, ["check", str(file)], standalone_mode=False)
    assert done.return_value == 1
    assert "own.json" in done.output + (done.stderr if done.stderr_bytes else "")


def test_the_graph_is_exported_as_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    file = tmp_path / "graph.onnx"
    CliRunner().invoke(graph, ["export", "--gpu", "gfx90a", "--output", str(file)], standalone_mode=False)
    onnx.checker.check_model(onnx.load(str(file)))


def test_the_exported_graph_runs_and_gives_the_violations(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the package onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    from asmevo_gate.constraints.onnx_engine import CompiledGraph, violations_of

    file = tmp_path / "graph.onnx"
    CliRunner().invoke(graph, ["export", "--gpu", "gfx90a", "--output", str(file)], standalone_mode=False)
    text = "v_mfma_f32_32x32x2f32 v[0:15], v40, v41, v[0:15]\ns_nop 1\nv_mov_b32 v50, v3\ns_endpgm"
    function = kernel("gfx90a", text)
    constraints = graph_for(function.target)
    found = violations_of(
        FunctionView(function, constraints), CompiledGraph(constraints, file.read_bytes()), frozenset()
    )
    assert [one.edge_id for one in found] == ["haz.mfma.valu_read"]
    assert found == violations(function, constraints)


@pytest.mark.parametrize("gpu", target_names())
def test_every_rule_of_every_graph_can_be_shown(gpu: str) -> None:
    constraints = graph_for(find_target(gpu))
    for rule in rule_ids(constraints):
        text = show(rule, constraints)
        assert rule in text
        for edge_id, edge in constraints.edges.items():
            if edge.rule == rule:
                assert f"{edge_id} ({edge.severity}" in text
                assert all(constraints.sources[source] in text for source in edge.source)
                cleared = [*edge.cleared_by, *(name for names in edge.step_clears for name in names)]
                assert all(constraints.classes[name].title in text for name in cleared)
