"""Waves per SIMD against the steps that LLVM documents by its own output."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.occupancy import Demand, occupancy, waves_by_sgprs, waves_by_vgprs
from asmevo_gate.isa.resource_limits import ResourceLimits, resource_limits
from asmevo_gate.isa.targets import find_target, target_names

STEPS = {
    ("gfx900", 64): {1: 10, 25: 9, 29: 8, 33: 7, 37: 6, 41: 5, 49: 4, 65: 3, 85: 2, 129: 1},
    ("gfx90a", 64): {1: 8, 65: 7, 73: 6, 81: 5, 97: 4, 129: 3, 169: 2, 257: 1},
    ("gfx1010", 64): {1: 20, 25: 18, 29: 16, 33: 14, 45: 10, 85: 5, 169: 2},
    ("gfx1030", 32): {1: 16, 65: 12, 81: 10, 97: 9, 113: 8, 129: 7, 145: 6, 161: 5, 193: 4},
    ("gfx1100", 32): {1: 16, 97: 12, 121: 10, 145: 9, 169: 8, 193: 7, 217: 6, 241: 5},
    ("gfx1150", 32): {1: 16, 65: 12, 193: 4},
    ("gfx1250", 32): {1: 16, 65: 12, 513: 1},
}
"""First VGPR count with each occupancy (llc 22, ``; Occupancy:``)."""


def _limits(gpu: str) -> ResourceLimits:
    return resource_limits(find_target(gpu))


@pytest.mark.parametrize(("gpu", "wave_size"), list(STEPS))
def test_vgpr_steps_are_where_the_compiler_has_them(gpu: str, wave_size: int) -> None:
    for first, waves in STEPS[gpu, wave_size].items():
        assert waves_by_vgprs(_limits(gpu), wave_size, first) == waves
        if first > 1:
            assert waves_by_vgprs(_limits(gpu), wave_size, first - 1) > waves


def test_sgprs_limit_waves_before_gfx10_only() -> None:
    assert [waves_by_sgprs(_limits("gfx906"), count) for count in (80, 81, 88, 89, 100, 101)] == [10, 9, 9, 8, 8, 7]
    assert waves_by_sgprs(_limits("gfx942"), 80) == 8
    assert waves_by_sgprs(_limits("gfx1201"), 106) == 16


def test_lds_limits_resident_work_groups() -> None:
    demand = Demand(64, "cu", 24, 16, 32768, (256, 256))
    found = occupancy(_limits("gfx942"), demand)
    assert found.waves == 2
    assert found.limited_by == ("lds",)


def test_more_lds_than_the_gpu_has_leaves_one_wave() -> None:
    assert occupancy(_limits("gfx900"), Demand(64, "cu", 24, 16, 70000, (64, 64))).waves == 1


def test_work_group_processor_mode_shares_twice_the_lds() -> None:
    limits = _limits("gfx1100")
    half, whole = (
        occupancy(limits, Demand(32, mode, 24, 16, 65536, (1024, 1024))).limits["lds"] for mode in ("cu", "wgp")
    )
    assert half == whole == 16
    small = {mode: occupancy(limits, Demand(32, mode, 24, 16, 65536, (128, 128))).waves for mode in ("cu", "wgp")}
    assert small == {"cu": 2, "wgp": 2}


def test_barriers_limit_two_wave_work_groups() -> None:
    found = occupancy(_limits("gfx900"), Demand(64, "cu", 24, 16, 0, (128, 128)))
    assert found.limits["work_group"] == 8


@pytest.mark.parametrize("gpu", target_names())
def test_more_registers_never_raise_occupancy(gpu: str) -> None:
    limits = _limits(gpu)
    for wave_size, file in limits.vgpr.items():
        waves = [waves_by_vgprs(limits, wave_size, count) for count in range(file.addressable + 1)]
        assert waves == sorted(waves, reverse=True)
        assert waves[0] == limits.max_waves_per_eu
        assert waves[-1] >= 1
