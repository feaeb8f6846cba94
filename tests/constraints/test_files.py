"""Constraint files: schema, choice, overrides, checks and the text of an edge."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from asmevo_gate.constraints.explanation import explain
from asmevo_gate.constraints.files import (
    ConstraintFileError,
    constraint_directory,
    file_names,
    graph_for,
    read_file,
    resolve,
)
from asmevo_gate.constraints.graph_check import check_project_file, check_shipped
from asmevo_gate.constraints.graph_text import rule_ids, show
from asmevo_gate.constraints.schema import json_schema
from asmevo_gate.errors import UsageError
from asmevo_gate.isa.targets import find_target, target_names
from tests.constraints.programs import found, kernel

_WANTED = ("haz.mfma.valu_read", "haz.vmem_store_data.war", "haz.dpp.vgpr_write", "haz.dst_forward", "haz.m0.sendmsg")


def test_the_schema_file_is_what_the_structs_say() -> None:
    assert json.loads(constraint_directory().joinpath("schema.json").read_bytes()) == json.loads(
        json.dumps(json_schema())
    )


@pytest.mark.parametrize("name", file_names())
def test_every_file_is_valid_against_the_schema(name: str) -> None:
    document = json.loads(constraint_directory().joinpath(name).read_bytes())
    jsonschema.validate(document, json_schema())


def test_the_shipped_files_have_no_problem() -> None:
    assert check_shipped() == []


@pytest.mark.parametrize("gpu", target_names())
def test_every_target_has_a_graph_with_sources(gpu: str) -> None:
    graph = graph_for(find_target(gpu))
    assert graph.edges and all(edge.source for edge in graph.edges.values())


def test_the_version_asked_for_chooses_the_file() -> None:
    target = find_target("gfx942")
    assert graph_for(target, "6.1.3").name == "gfx942_rocm613"
    assert graph_for(target, "6.4").name == "gfx942_rocm613"
    assert graph_for(target, "7.2.1").name == graph_for(target).name == "gfx942_rocm700"
    with pytest.raises(UsageError, match="not a ROCm version"):
        graph_for(target, "seven")


def _project(tmp_path: Path, **parts: object) -> Path:
    path = tmp_path / "project.json"
    document = {"schema": "asmevo-gate/constraints/1", "name": "project", "title": "rules of a project", **parts}
    path.write_text(json.dumps(document))
    return path


_OWN_EDGE = {
    "rule": "own.mfma", "title": "MFMA, then a move", "kind": "distance", "explanation": "A team's own.",
    "repair": "Put 1 wait state between them.", "source": ["LLVM"], "producer": "mfma_writes_d",
    "consumer": "plain_valu_reads", "required": 1,
}  # fmt: skip


def test_a_project_may_weaken_a_rule_only_with_a_reason(tmp_path: Path) -> None:
    target = find_target("gfx942")
    rule = "haz.vmem_store_data.war"
    off = _project(tmp_path, overrides={rule: {"reason": "", "enabled": False}})
    with pytest.raises(ConstraintFileError, match="no reason"):
        graph_for(target, override_file=off)
    off = _project(tmp_path, overrides={rule: {"reason": "measured on our boards", "enabled": False}})
    graph = graph_for(target, override_file=off)
    assert {edge_id for edge_id in graph.disabled if edge_id.startswith(rule)} == {rule, f"{rule}/sgpr_offset"}
    assert rule not in rule_ids(graph)


def test_an_override_of_a_rule_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    path = _project(tmp_path, overrides={"haz.nothing": {"reason": "just so", "enabled": False}})
    (problem,) = check_project_file(path, graph_for(find_target("gfx942")))
    assert "haz.nothing" in problem.message


def test_an_override_of_a_rule_of_another_gpu_changes_nothing(tmp_path: Path) -> None:
    path = _project(tmp_path, overrides={"haz.mfma.valu_read": {"reason": "only our CDNA kernels", "severity": "info"}})
    assert graph_for(find_target("gfx1100"), override_file=path).edges == graph_for(find_target("gfx1100")).edges
    changed = graph_for(find_target("gfx942"), override_file=path).edges["haz.mfma.valu_read"]
    assert changed.severity == "info"


def test_a_file_for_one_gpu_is_laid_over_that_one_only(tmp_path: Path) -> None:
    path = _project(tmp_path, gpu="gfx942", edges={"own.mfma": _OWN_EDGE})
    assert "own.mfma" in graph_for(find_target("gfx942"), override_file=path).edges
    assert "own.mfma" not in graph_for(find_target("gfx1100"), override_file=path).edges


@pytest.mark.parametrize(
    "parts",
    [
        {"edges": {"haz.dpp.vgpr_write": {**_OWN_EDGE, "rule": "haz.dpp.vgpr_write", "required": 1}}},
        {"classes": {"valu": {"title": "nothing", "mnemonics": ["v_none"]}}},
        {"nodes": {"valu_writes_vgpr": {"title": "nothing", "instruction": "smem"}}},
        {"units": {"valu": {"title": "everything", "counts": "salu"}}},
        {"abi": {"vgprs": 4096}},
        {"grades": {"XDL/2": ["v_mfma_*"]}},
        {"dpp": {"row_share": {"source": ["LLVM"]}}},
        {"s_nop_maximum": 1024},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_a_project_takes_no_hardware_fact_away(tmp_path: Path, parts: dict[str, object]) -> None:
    with pytest.raises(ConstraintFileError, match=r"take the place|comes from the shipped files"):
        graph_for(find_target("gfx90a"), override_file=_project(tmp_path, **parts))


def test_an_override_switches_a_house_rule_on(tmp_path: Path) -> None:
    override = {"reason": "bit for bit equal results", "enabled": True, "severity": "error"}
    graph = graph_for(find_target("gfx942"), override_file=_project(tmp_path, overrides={"house.mac_merge": override}))
    assert (graph.house["mac_merge"].enabled, graph.house["mac_merge"].severity) == (True, "error")
    assert not graph_for(find_target("gfx942")).house["mac_merge"].enabled


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"schema": "other/1", "name": "x"}', b'{"schema": 1}'])
def test_a_malformed_file_is_an_error(content: bytes) -> None:
    with pytest.raises(ConstraintFileError):
        read_file(content, "x.json")


def test_extends_in_a_circle_is_an_error() -> None:
    names = {"a.json": "b.json", "b.json": "a.json"}
    with pytest.raises(ConstraintFileError, match="circle"):
        resolve("a.json", lambda name: read_file(msgspec.json.encode(
            {"schema": "asmevo-gate/constraints/1", "name": name, "extends": [names[name]]}), name))  # fmt: skip


@pytest.mark.parametrize("rule", _WANTED)
def test_an_edge_can_be_shown(rule: str) -> None:
    text = show(rule, graph_for(find_target("gfx942")))
    assert all(part in text for part in ("producer:", "consumer:", "distance:", "why:", "repair:", "source:"))


def test_showing_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        show("haz.mfma.valu", graph_for(find_target("gfx942")))
    assert "haz.mfma.valu_read" in caught.value.repair


def test_an_explanation_names_states_distance_path_and_repair() -> None:
    text = "v_readfirstlane_b32 s4, v0\ns_cbranch_scc0 .Lx\ns_nop 7\n.Lx:\nglobal_load_dword v1, v2, s[4:5]\ns_endpgm"
    (violation,) = found("gfx90a", text)
    function = kernel("gfx90a", text)
    lines = explain(violation, graph_for(function.target), function).lines()
    joined = "\n".join(lines)
    assert "(s4)" in lines[0] and "1 wait state before, 5 needed" in lines[0]
    assert "at least 5 wait states between producer and consumer, found 1 wait state" in joined
    assert "through blocks" in joined and "insert 's_nop 3' before line 8" in joined


def test_the_documented_example_of_a_project_fits(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "constraints.md"
    path = tmp_path / "team.json"
    path.write_text(page.read_text().split("```json\n")[1].split("```")[0])
    for gpu in target_names():
        graph = graph_for(find_target(gpu))
        assert check_project_file(path, graph) == []
        assert graph_for(find_target(gpu), override_file=path).house["no_sleep"].enabled
