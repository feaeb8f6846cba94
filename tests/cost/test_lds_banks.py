"""Bank conflicts of LDS accesses with known addresses."""

from __future__ import annotations

import pytest

from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.cost.lds_banks import bank_clk

MI250 = load_fingerprint("gfx90a")


def test_one_lane_takes_two_clk() -> None:
    assert bank_clk([0], MI250) == 2


@pytest.mark.parametrize("lanes", [2, 3, 8, 32])
def test_each_further_lane_on_one_bank_takes_another(lanes: int) -> None:
    assert bank_clk([128 * lane for lane in range(lanes)], MI250) == 2 + lanes - 1


def test_lanes_on_different_banks_do_not_conflict() -> None:
    assert bank_clk([4 * lane for lane in range(32)], MI250) == 2


def test_the_same_dword_is_read_once() -> None:
    assert bank_clk([64] * 64, MI250) == 2


def test_a_conflict_of_all_lanes_stays_below_the_stated_most() -> None:
    assert bank_clk([128 * lane for lane in range(64)], MI250) == 64


def test_more_banks_part_what_fewer_would_join() -> None:
    stride = [128 * lane for lane in range(4)]
    assert bank_clk(stride, load_fingerprint("gfx950")) < bank_clk(stride, MI250)


def test_no_lane_no_time() -> None:
    assert bank_clk([], MI250) == 0
