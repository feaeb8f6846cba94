"""Random blocks through everything: the result is equal by another proof, clean, and final."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from asmevo_gate.isa.targets import find_target
from asmevo_gate.proof.comparison import compare_programs
from asmevo_gate.proof.timing import memory_waits
from asmevo_gate.verify.assembler import NotAssembled, find_assembler
from tests.rewrite.kernels import judge_for, kernel, rewritten

GPUS = ("gfx90a", "gfx942", "gfx1030", "gfx1100")
VGPR = st.integers(4, 12).map("v{}".format)
SOURCE = st.one_of(VGPR, st.sampled_from(["s4", "s5", "1", "-3", "0x1234"]))
TWO = ("v_add_u32_e32", "v_xor_b32_e32", "v_and_b32_e32", "v_lshlrev_b32_e32", "v_mul_f32_e32", "v_add_f32_e32")


@st.composite
def lines(draw: st.DrawFn, gpu: str) -> str:
    kind = draw(st.integers(0, 9))
    if kind <= 4:
        name = draw(st.sampled_from(TWO))
        if gpu.startswith("gfx1"):
            name = name.replace("v_add_u32", "v_add_nc_u32")
        return f"{name} {draw(VGPR)}, {draw(SOURCE)}, {draw(VGPR)}"
    if kind == 5:
        return f"v_mov_b32_e32 {draw(VGPR)}, {draw(SOURCE)}"
    if kind == 6:
        return f"v_exp_f32_e32 {draw(VGPR)}, {draw(VGPR)}"
    if kind == 7:
        return f"s_nop {draw(st.integers(0, 3))}"
    if kind == 8:
        mask = "vcc" if not gpu.startswith("gfx1") else "vcc_lo"
        return f"v_cmp_lt_u32_e32 {mask}, {draw(SOURCE)}, {draw(VGPR)}"
    mask = "vcc" if not gpu.startswith("gfx1") else "vcc_lo"
    return f"v_cndmask_b32_e32 {draw(VGPR)}, {draw(VGPR)}, {draw(VGPR)}, {mask}"


@pytest.mark.skipif(
    isinstance(find_assembler(find_target("gfx1100")), NotAssembled),
    reason="no assembler (clang or llvm-mc) is at hand",
)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_random_block(data: st.DataObject) -> None:
    gpu = data.draw(st.sampled_from(GPUS))
    start = [f"v_mov_b32_e32 v{number}, v4" for number in range(8, 13)]
    mask = "vcc_lo" if gpu.startswith("gfx1") else "vcc"
    body = [*start, f"v_cmp_eq_u32_e32 {mask}, 0, v5", *data.draw(st.lists(lines(gpu), min_size=3, max_size=14))]
    text = kernel("".join(f"  {line}\n" for line in body), gpu, "v8,v9,v10")
    judge = judge_for(gpu)
    before = judge.parse(text)
    assume(judge.assembles(before) == "")
    result = rewritten(text, gpu)
    after = judge.parse(result.after)
    assert compare_programs(before, after, (memory_waits,)).answer == "proved"
    assert not judge.findings(after) - judge.findings(before)
    assert judge.assembles(after) == ""
    assert not [one for one in result.rewrites if one.class_ in ("parse", "scope")]
    assert rewritten(result.after, gpu).after == result.after
