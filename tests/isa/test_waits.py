"""Which counters a wait waits for, in every spelling."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import find_target, target_names
from asmevo_gate.isa.waits import counter_limits, decode_depctr, decode_wait


def decoded(target: str, text: str) -> Decoded:
    gpu = find_target(target)
    result = isa_for(gpu, gpu.wave_sizes[0]).decode(text)
    assert isinstance(result, Decoded), result
    return result


_ALL_OF_GFX12 = dict.fromkeys(("loadcnt", "storecnt", "samplecnt", "bvhcnt", "expcnt", "dscnt", "kmcnt"), 0)


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("gfx942", "s_waitcnt vmcnt(3)", {"vmcnt": 3}),
        ("gfx942", "s_waitcnt vmcnt(0) & lgkmcnt(0)", {"vmcnt": 0, "lgkmcnt": 0}),
        ("gfx942", "s_waitcnt vmcnt(0), expcnt(1) lgkmcnt(2)", {"vmcnt": 0, "expcnt": 1, "lgkmcnt": 2}),
        ("gfx942", "s_waitcnt vmcnt(0)lgkmcnt(0)", {"vmcnt": 0, "lgkmcnt": 0}),
        ("gfx942", "s_waitcnt vmcnt(63)", {}),
        ("gfx942", "s_waitcnt 0", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
        ("gfx942", "s_waitcnt 0xc07f", {"lgkmcnt": 0}),
        ("gfx906", "s_waitcnt 0x0f70", {"vmcnt": 0}),
        ("gfx1030", "s_waitcnt 0x3f70", {"vmcnt": 0}),
        ("gfx1030", "s_waitcnt 0x0070", {"vmcnt": 0, "lgkmcnt": 0}),
        ("gfx1100", "s_waitcnt 0x0070", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 7}),
        ("gfx1100", "s_waitcnt lgkmcnt(16)", {"lgkmcnt": 16}),
        ("gfx942", "s_waitcnt lgkmcnt_sat(16)", {}),
        ("gfx942", "s_waitcnt vmcnt(2+3*(1))", {"vmcnt": 5}),
        ("gfx942", "s_waitcnt vmcnt(n)", None),
        ("gfx1030", "s_waitcnt_vscnt null, 0x0", {"vscnt": 0}),
        ("gfx1030", "s_waitcnt_vscnt s3, 0x0", None),
        ("gfx1100", "s_waitcnt_vscnt null, 63", {}),
        ("gfx1200", "s_wait_loadcnt 0x2", {"loadcnt": 2}),
        ("gfx1200", "s_wait_loadcnt_dscnt 0x102", {"loadcnt": 1, "dscnt": 2}),
        ("gfx1200", "s_wait_storecnt_dscnt 0x3f00", {"dscnt": 0}),
        ("gfx1200", "s_wait_kmcnt 31", {}),
        ("gfx1200", "s_waitcnt vmcnt(1)", _ALL_OF_GFX12),
        ("gfx1201", "s_waitcnt 0xfc07", _ALL_OF_GFX12),
        ("gfx1200", "s_waitcnt 0xffff", {}),
        ("gfx1200", "s_waitcnt vmcnt(n)", None),
        ("gfx1250", "s_wait_xcnt 0x0", {"xcnt": 0}),
        ("gfx1250", "s_wait_tensorcnt 0x1", {"tensorcnt": 1}),
        ("gfx1100", "s_wait_idle", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0, "vscnt": 0}),
        ("gfx1100", "s_waitcnt_depctr 0xfff", {}),
        ("gfx942", "s_nop 0", {}),
    ],
)
def test_counters_waited_for(target: str, text: str, expected: dict[str, int] | None) -> None:
    assert decode_wait(decoded(target, text), find_target(target)) == expected


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("gfx1030", "s_waitcnt_depctr 0xffe3", {"vm_vsrc": 0}),
        ("gfx1030", "s_waitcnt_depctr 0xff83", {"vm_vsrc": 0}),
        ("gfx1100", "s_waitcnt_depctr depctr_va_vdst(0)", {"va_vdst": 0}),
        ("gfx1100", "s_waitcnt_depctr depctr_va_vdst(0) depctr_sa_sdst(0)", {"va_vdst": 0, "sa_sdst": 0}),
        ("gfx1200", "s_wait_alu depctr_va_vdst(0), depctr_va_sdst(3)", {"va_vdst": 0, "va_sdst": 3}),
        ("gfx1200", "s_wait_alu depctr_va_vdst(x)", None),
        ("gfx1200", "s_wait_loadcnt 0", {}),
    ],
)
def test_depctr_fields(target: str, text: str, expected: dict[str, int] | None) -> None:
    assert decode_depctr(decoded(target, text), find_target(target)) == expected


@pytest.mark.parametrize("target", target_names())
def test_every_target_has_counters(target: str) -> None:
    assert counter_limits(find_target(target))
