"""Running both versions: differences are found, with llvmlite and without."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.proof import lift
from asmevo_gate.proof.execution import run_both
from tests.proof.blocks import EVERYTHING, decode

ENGINES = ["numpy", pytest.param("llvm", marks=pytest.mark.skipif(not lift.available(), reason="llvmlite is missing"))]
DIFFERENT = [
    ("v_add_u32 v0, v1, v2", "v_sub_u32 v0, v1, v2"),
    ("v_add_f32 v0, v1, v2", "v_mul_f32 v0, v1, v2"),
    ("v_cmp_lt_u32 vcc, v0, v1", "v_cmp_le_u32 vcc, v0, v1"),
    ("v_readlane_b32 s0, v0, 3", "v_readlane_b32 s0, v0, 4"),
    (
        "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf",
        "v_mov_b32_dpp v0, v1 row_shl:2 row_mask:0xf bank_mask:0xf",
    ),
    ("v_exp_f32 v0, v1", "v_exp_f32 v0, v2"),
    ("v_ashrrev_i32 v0, v1, v2", "v_lshrrev_b32 v0, v1, v2"),
    ("v_mbcnt_lo_u32_b32 v0, -1, 0", "v_mbcnt_hi_u32_b32 v0, -1, 0"),
    ("v_bfe_i32 v0, v1, 3, 7", "v_bfe_u32 v0, v1, 3, 7"),
]
EQUAL = [
    ("v_add_u32 v0, v1, v2", "v_add_u32 v0, v2, v1"),
    ("v_ffbh_u32 v0, v1; v_fma_f32 v2, v0, v3, v4", "v_ffbh_u32 v0, v1; v_mov_b32 v2, v4; v_fmac_f32 v2, v0, v3"),
    (
        "s_and_saveexec_b64 s[0:1], vcc; s_or_b64 exec, exec, s[0:1]",
        "s_and_saveexec_b64 s[0:1], vcc; s_or_b64 exec, s[0:1], exec",
    ),
]


def _different(old: str, new: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(lift, "available", lambda: engine == "llvm")
    run = run_both(decode(old), decode(new), EVERYTHING, target=find_target("gfx942"), wave_size=64, waves=32)
    assert run.engine == engine
    return run.different


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("old", "new"), DIFFERENT)
def test_different_blocks_are_told_apart(old: str, new: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _different(old, new, engine, monkeypatch)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("old", "new"), EQUAL)
def test_equal_blocks_agree(old: str, new: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _different(old, new, engine, monkeypatch) == ""
