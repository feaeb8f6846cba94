"""The benchmark over LLVM's tests, on tests written here: what it finds, leaves out, and calls unexplained."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.llvm_mir import ASSEMBLER, LLC, functions_of, runs_of
from benchmarks.llvm_pairs import ListedException, outcomes_of, summary, unexplained

_TEST = """# RUN: llc -mtriple=amdgcn -mcpu=gfx942 -run-pass {passes} %s -o - | FileCheck %s
---
name: {name}
body: |
  bb.0:
{body}
    S_ENDPGM 0
...
"""
_LOAD = """    $vgpr2 = GLOBAL_LOAD_DWORD $vgpr0_vgpr1, 0, 0, implicit $exec
    $vgpr3 = V_MOV_B32_e32 $vgpr2, implicit $exec"""
_DPP = """    $vgpr1 = V_MOV_B32_e32 0, implicit $exec
    $vgpr2 = V_MOV_B32_dpp $vgpr2, $vgpr1, 0, 15, 15, 0, implicit $exec"""
_PLAIN = "    $vgpr1 = V_MOV_B32_e32 0, implicit $exec"

needs_llvm = pytest.mark.skipif(not (shutil.which(LLC) and shutil.which(ASSEMBLER)), reason="llc-22 is not installed")


def test_runs_name_processors_passes_and_xnack() -> None:
    text = "; RUN: llc -mcpu=tonga -run-pass=si-insert-waitcnts %s\n# RUN: llc -mcpu=gfx1100 -mattr=+wavefrontsize64 \\\n# RUN: -run-pass post-RA-hazard-rec %s\n# RUN: opt %s\n"  # noqa: E501
    first, second = runs_of(text)
    assert (first.gpu, first.attributes, first.passes) == ("gfx1100", "+wavefrontsize64", ("post-RA-hazard-rec",))
    assert (second.gpu, second.attributes, second.passes) == ("gfx900", "+xnack", ("si-insert-waitcnts",))
    assert (first.wave_size, second.wave_size) == (64, None)


def test_a_function_that_does_not_return_is_a_kernel() -> None:
    kernel, function = functions_of(
        "---\nname: a-b\nbody: |\n  bb.0.entry:\n    S_ENDPGM 0\n...\n"
        "---\nname: f\nbody: |\n  bb.0:\n    SI_RETURN\n...\n"
    )
    assert (kernel.name, kernel.is_kernel, function.is_kernel) == ("a_b", True, False)
    assert "isEntryFunction: true" in kernel.body and "bb.0:" in kernel.body


@needs_llvm
@pytest.mark.parametrize(
    ("passes", "body", "kind"),
    [
        ("si-insert-waitcnts", _LOAD, "found"),
        ("post-RA-hazard-rec", _DPP, "found"),
        ("post-RA-hazard-rec", _PLAIN, "unchanged"),
    ],
)
def test_the_unrepaired_side_is_found_and_the_repaired_side_is_quiet(
    tmp_path: Path, passes: str, body: str, kind: str
) -> None:
    path = tmp_path / "own.mir"
    path.write_text(_TEST.format(passes=passes, name="own", body=body))
    (outcome,) = outcomes_of(path)
    assert (outcome.kind, outcome.alarms) == (kind, ())


@needs_llvm
def test_counts_other_than_those_listed_are_unexplained(tmp_path: Path) -> None:
    path = tmp_path / "own.mir"
    path.write_text(_TEST.format(passes="si-insert-waitcnts", name="own", body=_LOAD))
    outcomes = outcomes_of(path)
    assert list(unexplained(outcomes, [])) == []
    wrong = ListedException("own.mir", "gfx942", "none", missed=1)
    assert list(unexplained(outcomes, [wrong])) == ["own.mir on gfx942: 0 missed, 1 listed"]
    functions = summary(outcomes, [])["functions"]
    assert isinstance(functions, dict)
    assert (functions["with_a_repair"], functions["found"], functions["missed"]) == (1, 1, 0)
