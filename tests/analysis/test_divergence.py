"""Branches that depend on the work-item: what makes a value dependent, and what takes that away again."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.divergence import divergent_branches
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.source.parser import parse_source

COMPARE = "  v_cmp_gt_u32 vcc, 9, {}\n"
BRANCH = "  s_cbranch_{} .Lend\n  v_mov_b32 v9, 0\n.Lend:\n"


def conditions(body: str, gpu: str = "gfx900") -> list[str]:
    (function,) = build_program(parse_source("k.s", kernel_text(body)), find_target(gpu)).functions
    return [one.condition for one in divergent_branches(function)]


@pytest.mark.parametrize(
    ("body", "test", "expected"),
    [
        (COMPARE.format("v0"), "vccz", "VCC"),
        (COMPARE.format("s4"), "vccz", ""),
        ("  v_mov_b32 v1, v0\n" + COMPARE.format("v1"), "vccnz", "VCC"),
        ("  v_mov_b32 v0, 0\n" + COMPARE.format("v0"), "vccnz", ""),
        ("  global_load_dword v1, v[0:1], off\n" + COMPARE.format("v1"), "vccz", "VCC"),
        ("  global_load_dword v0, v[2:3], off\n" + COMPARE.format("v0"), "vccz", ""),
        ("  v_mov_b32 v0, 0\n  v_mbcnt_lo_u32_b32 v1, -1, 0\n" + COMPARE.format("v1"), "vccz", "VCC"),
        ("  v_readfirstlane_b32 s4, v0\n  s_cmp_lg_u32 s4, 0\n", "scc1", "SCC"),
        ("  s_cmp_lg_u32 s4, 0\n", "scc1", ""),
        (COMPARE.format("v0") + "  s_and_saveexec_b64 s[8:9], vcc\n", "execz", "EXEC"),
        (COMPARE.format("s4") + "  s_and_saveexec_b64 s[8:9], vcc\n", "execz", ""),
    ],
)
def test_what_depends_on_the_work_item(body: str, test: str, expected: str) -> None:
    assert conditions(body + BRANCH.format(test)) == [expected][: bool(expected)]


MASKED = COMPARE.format("v0") + "  s_and_saveexec_b64 s[8:9], vcc\n"


def test_the_saved_mask_is_the_one_from_before_and_gives_the_lanes_back() -> None:
    restore = "  s_or_b64 exec, exec, s[8:9]\n"
    assert conditions(MASKED + restore + BRANCH.format("execz")) == []
    nested = MASKED + "  s_and_saveexec_b64 s[10:11], vcc\n  s_or_b64 exec, exec, s[10:11]\n"
    assert conditions(nested + BRANCH.format("execz")) == ["EXEC"]
    assert conditions(nested + "  s_mov_b64 vcc, s[10:11]\n" + BRANCH.format("vccz")) == ["VCC"]


def test_only_what_is_dependent_on_every_path_counts() -> None:
    join = "  s_cbranch_scc1 .Lother\n  v_mov_b32 v1, {}\n.Lother:\n"
    compare = COMPARE.format("v1") + BRANCH.format("vccz")
    assert conditions("  v_mov_b32 v1, v0\n" + join.format("v0") + compare) == ["VCC"]
    assert conditions("  v_mov_b32 v1, v0\n" + join.format("0") + compare) == []
