"""House rules are off unless switched on, and explain themselves."""

from __future__ import annotations

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.sequences import house_violations
from tests.constraints.programs import kernel

_TEXT = "v_add_f32 v0, v1, v2\nv_mul_f32 v3, v0, v0\nv_mac_f32 v3, v0, v0\nv_add_f32 v245, v3, v3\nv_mov_b32 v5, v4\ns_endpgm"  # noqa: E501


def _broken(*enabled: str) -> list[tuple[str, int]]:
    function = kernel("gfx90a", _TEXT)
    found = house_violations(function, graph_for(function.target), frozenset(enabled))
    return [(one.rule, one.instruction.index) for one in found]


def test_no_house_rule_counts_by_default() -> None:
    assert _broken() == []


@pytest.mark.parametrize(
    ("rule", "places"),
    [("mac_merge", [2]), ("alu_run", [3]), ("move_after_add", [0]), ("reserved_vgprs", [3])],
)
def test_a_house_rule_that_is_on_reports_its_place(rule: str, places: list[int]) -> None:
    assert _broken(rule) == [(f"house.{rule}", place) for place in places]
