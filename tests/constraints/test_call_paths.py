"""Distances over calls: into the callee, out of it, through a short one; for every pair of an edge that may do so."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from asmevo_gate.constraints import onnx_engine, reference
from asmevo_gate.constraints.call_paths import call_violations
from asmevo_gate.constraints.explanation import explain
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.targets import find_target, parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.calls import CallTargets, linked_function
from asmevo_gate.source.parser import parse_source
from tests.constraints.edge_pairs import EdgePair, edge_pairs

_CALL = "s_getpc_b64 s[90:91]\ns_add_u32 s90, s90, {}@rel32@lo+4\ns_addc_u32 s91, s91, f@rel32@hi+12"
_JUMPS = 1
"""Wait states of the call, or of the return."""


def _found(gpu: str, wave: int, callee: str, before: str, behind: str, address: str = "f") -> list[HazardViolation]:
    target = parse_target(gpu)
    call = "\n".join([_CALL.format(address), before, "s_swappc_b64 s[30:31], s[90:91]", behind, "s_endpgm"])
    text = f".text\n.type f,@function\nf:\n{callee}\ns_setpc_b64 s[30:31]\n.type k,@function\nk:\n{call}\n"
    program = build_program(parse_source("k.s", text), target, wave)
    functions = {function.name: function for function in program.functions}
    assert all(one.decoded for function in functions.values() for one in function.instructions)
    linked, graph = linked_function(functions["k"], CallTargets(program.functions)), graph_for(target)
    assert onnx_engine.violations(linked.function, graph) == reference.violations(linked.function, graph)
    return call_violations(linked, graph)


def _counted(gpu: str, wave: int) -> list[EdgePair]:
    return [
        pair for pair in edge_pairs(gpu, wave)[0]
        if pair.branch == "counts" and len(pair.steps) == 2 and pair.count > _JUMPS and ".L" not in pair.steps[1]
        and not pair.steps[1].startswith("s_rfe")
    ]  # fmt: skip


_PAIRS = [pair for gpu in ("gfx906", "gfx908", "gfx950") for pair in _counted(gpu, 64)]


@pytest.mark.parametrize("pair", _PAIRS, ids=str)
@pytest.mark.parametrize("missing", [0, 1])
def test_into_and_out_of_a_callee(pair: EdgePair, missing: int) -> None:
    fill = "\n".join(["s_nop 0"] * (pair.count - _JUMPS - missing))
    producer, consumer = pair.steps
    into = _found(pair.gpu, pair.wave, f"{fill}\n{consumer}", producer, "s_nop 0")
    out_of = _found(pair.gpu, pair.wave, f"s_nop 15\ns_nop 15\n{producer}\n{fill}", "s_nop 0", consumer)
    for found in (into, out_of):
        assert (pair.edge_id in {one.edge_id for one in found}) == bool(missing)


def test_through_a_short_callee() -> None:
    write, read = "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]"
    assert [one.found for one in _found("gfx90a", 64, "s_nop 0", write, read)] == [3]
    assert not _found("gfx90a", 64, "s_nop 2", write, read)


def test_what_leads_over_a_call_is_a_warning() -> None:
    found = _found("gfx90a", 64, "s_nop 0", "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]")
    assert [(one.edge.severity, one.severity) for one in found] == [("error", "warning")]


def test_two_calls_do_not_mix() -> None:
    """What the first call returns with never comes out of the second one."""
    target = find_target("gfx90a")
    call = f"{_CALL.format('f')}\n{{}}\ns_swappc_b64 s[30:31], s[90:91]\n{{}}\n"
    text = (
        ".text\n.type f,@function\nf:\ns_setpc_b64 s[30:31]\n.type k,@function\nk:\n"
        + call.format("v_readfirstlane_b32 s4, v0", "s_nop 3")
        + call.format("s_nop 0", "global_load_dword v1, v2, s[4:5]")
        + "s_endpgm\n"
    )
    program = build_program(parse_source("k.s", text), target, 64)
    functions = {function.name: function for function in program.functions}
    assert not call_violations(linked_function(functions["k"], CallTargets(program.functions)), graph_for(target))


def test_an_unknown_target_is_not_followed() -> None:
    assert not _found("gfx90a", 64, "v_mov_b32_dpp v1, v0 row_shr:1", "v_mov_b32 v0, 1", "s_nop 0", address="elsewhere")


def test_the_explanation_leads_over_the_call() -> None:
    (violation,) = _found("gfx90a", 64, "v_mov_b32_dpp v1, v0 row_shr:1", "v_mov_b32 v0, 1", "s_nop 0")
    assert violation.linked is not None
    lines = explain(violation, graph_for(find_target("gfx90a")), violation.linked).lines()
    assert any("through blocks" in line and "-> f" in line for line in lines)
