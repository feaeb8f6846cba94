"""Whole files: what each proposer finds, what is left alone, and that a second run finds nothing."""

from __future__ import annotations

import pytest

from asmevo_gate.gate.rewriting import FileRewrite
from asmevo_gate.proof.comparison import compare_programs
from asmevo_gate.proof.timing import memory_waits
from asmevo_gate.source.edits import apply_edits
from tests.oracles.compiled_kernels import SOURCES, Job, compile_job, compiler
from tests.rewrite.kernels import judge_for, kernel, rewritten


def body_of(result: FileRewrite) -> str:
    lines = result.after.splitlines()
    first = next(at for at, line in enumerate(lines) if "vmcnt(0)" in line)
    last = next(at for at, line in enumerate(lines) if "_store_" in line)
    return "\n".join(line.strip() for line in lines[first + 1 : last])


def test_dead_code_copies_and_repeated_work_go() -> None:
    body = (
        "  v_mov_b32_e32 v9, v4\n  v_add_u32_e32 v10, v9, v5\n  v_add_u32_e32 v11, v4, v5\n"
        "  v_mov_b32_e32 v12, 7\n  v_mul_lo_u32 v8, v10, v11\n"
    )
    result = rewritten(kernel(body))
    assert body_of(result) == "v_add_u32_e32 v10, v4, v5\nv_mul_lo_u32 v8, v10, v10"
    assert rewritten(result.after).after == result.after


def test_pairs_become_fused_forms_where_that_is_exact() -> None:
    body = "  v_lshlrev_b32_e32 v9, 4, v4\n  v_add_u32_e32 v10, v9, v5\n  v_and_b32_e32 v11, v4, v6\n"
    body += "  v_or_b32_e32 v12, v11, v10\n  v_mul_lo_u32 v8, v12, v7\n"
    assert body_of(rewritten(kernel(body))).splitlines() == [
        "v_lshl_add_u32 v10, v4, 4, v5",
        "v_and_or_b32 v12, v4, v6, v10",
        "v_mul_lo_u32 v8, v12, v7",
    ]


def test_mac_merge_can_be_switched_off() -> None:
    body = "  v_mul_u32_u24_e32 v9, v4, v5\n  v_add_u32_e32 v8, v9, v6\n"
    assert body_of(rewritten(kernel(body))) == "v_mad_u32_u24 v8, v4, v5, v6"
    assert rewritten(kernel(body), mac_merge=False).after == kernel(body)


def test_padding_goes_where_nothing_needs_it_and_stays_where_it_does() -> None:
    dpp = "v_mov_b32_dpp v8, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    result = rewritten(kernel(f"  v_add_f32_e32 v9, v4, v5\n  s_nop 4\n  {dpp}\n"))
    assert body_of(result).splitlines()[1] == "s_nop 1"
    free = rewritten(kernel("  v_add_f32_e32 v9, v4, v5\n  s_nop 4\n  v_add_f32_e32 v8, v9, v6\n"))
    assert "s_nop" not in free.after


def test_padding_is_filled_with_work() -> None:
    dpp = "v_mov_b32_dpp v8, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    work = "  v_mul_lo_u32 v10, v4, v5\n  v_xor_b32_e32 v11, v5, v6\n"
    result = rewritten(kernel(f"{work}  v_add_f32_e32 v9, v4, v5\n  s_nop 1\n  {dpp}\n", results="v8,v10,v11"))
    assert "s_nop" not in result.after
    lines = body_of(result).splitlines()
    assert lines.index(dpp) - lines.index("v_add_f32_e32 v9, v4, v5") == 3


def test_results_that_take_long_are_asked_for_early() -> None:
    body = (
        "  v_exp_f32_e32 v8, v4\n  v_add_f32_e32 v8, v8, v5\n  v_exp_f32_e32 v9, v5\n  v_add_f32_e32 v9, v9, v6\n"
        "  v_exp_f32_e32 v10, v6\n  v_add_f32_e32 v10, v10, v7\n"
    )
    result = rewritten(kernel(body, "gfx1100", "v8,v9,v10"), "gfx1100")
    (one,) = [one for one in result.rewrites if one.state == "accepted"]
    assert one.metrics["block_cycles_after"] < one.metrics["block_cycles_before"]
    assert [line.split()[0] for line in body_of(result).splitlines()[:3]] == ["v_exp_f32_e32"] * 3


def test_waits_get_their_weakest_form() -> None:
    text = (
        kernel("  v_add_f32_e32 v8, v4, v5\n")
        .replace(
            "  s_waitcnt vmcnt(0)\n",
            "  global_load_dword v9, v0, s[2:3] offset:64\n  s_waitcnt vmcnt(0)\n",
        )
        .replace("  s_endpgm", "  s_waitcnt vmcnt(0)\n  global_store_dword v0, v9, s[2:3] offset:16\n  s_endpgm")
    )
    result = rewritten(text)
    assert "s_waitcnt vmcnt(1)\n  v_add_f32_e32 v8" in result.after
    assert rewritten(result.after).after == result.after


def test_macros_symbols_and_code_addresses_are_left_alone() -> None:
    line = "  v_mov_b32_e32 \\register, v4\n"
    macro = f".text\n.macro twice register\n{line}{line}.endm\n"
    text = kernel("  twice v9\n  v_mov_b32_e32 v8, v9\n").replace(".text\n", macro, 1)
    result = rewritten(text)
    assert line + line in result.after
    reasons = {one.reason for one in result.runs[0].excluded}
    assert "comes from an expansion of 'twice'" in reasons
    jump = "  s_getpc_b64 s[4:5]\n  s_add_u32 s4, s4, 16\n  v_mov_b32_e32 v9, 1\n  v_mov_b32_e32 v8, v4\n"
    assert rewritten(kernel(jump)).after == kernel(jump)


def test_conditional_scalar_move_needs_what_was_there() -> None:
    body = "  s_mov_b32 s6, 3\n  s_cmp_eq_u32 s4, 0\n  s_cmov_b32 s6, s5\n  v_add_u32_e32 v8, s6, v4\n"
    assert "s_mov_b32 s6, 3" in rewritten(kernel(body)).after


COMPILED = [
    ("gfx90a", "reduction"),
    ("gfx942", "matmul_tiled"),
    ("gfx1100", "fft_butterfly"),
    ("gfx1201", "dpp_reduction"),
]


@pytest.mark.skipif(compiler() is None, reason="clang-22 is not installed")
@pytest.mark.parametrize(("gpu", "source"), COMPILED)
def test_compiled_kernels_stay_equal_and_clean_and_a_second_run_finds_nothing(gpu: str, source: str) -> None:
    text = compile_job(Job(gpu, SOURCES / f"{source}.cl", ("-O1",)))
    judge = judge_for(gpu)
    result = rewritten(text, gpu)
    old, new = judge.parse(text), judge.parse(result.after)
    assert not judge.findings(new) - judge.findings(old)
    assert judge.assembles(new) == ""
    assert compare_programs(old, new, (memory_waits,)).answer == "proved"
    assert rewritten(result.after, gpu).after == result.after
    for one in result.runs[0].accepted:
        alone = judge.parse(apply_edits(text, one.candidate.edits))
        if one.alone:
            assert not judge.findings(alone) - judge.findings(old)
        assert one.proof.proved


def test_orders_keep_carries_with_what_sets_them() -> None:
    body = (
        "  s_or_b32 s8, s4, 2\n  s_add_u32 s10, s4, s5\n  s_addc_u32 s11, s5, s4\n  s_or_b32 s9, s8, 4\n"
        "  v_add_u32_e32 v9, s11, v4\n  v_exp_f32_e32 v10, v9\n  v_add_f32_e32 v8, v10, v5\n"
        "  v_add_u32_e32 v8, s9, v8\n"
    )
    for gpu in ("gfx90a", "gfx1100"):
        spelled = body.replace("v_add_u32", "v_add_nc_u32") if gpu == "gfx1100" else body
        result = rewritten(kernel(spelled, gpu), gpu)
        assert not [one for one in result.rewrites if one.class_ in ("refuted", "constraint")]


def test_independent_instructions_are_issued_together() -> None:
    body = "  v_mul_f32_e32 v8, v4, v5\n  v_add_f32_e32 v9, v5, v6\n"
    result = rewritten(kernel(body, "gfx1100", "v8,v9"), "gfx1100")
    assert body_of(result) == "v_dual_mul_f32 v8, v4, v5 :: v_dual_add_f32 v9, v5, v6"
    same_bank = "  v_mul_f32_e32 v8, v4, v5\n  v_add_f32_e32 v10, v5, v6\n"
    assert "v_dual" not in rewritten(kernel(same_bank, "gfx1100", "v8,v10"), "gfx1100").after
    dependent = "  v_mul_f32_e32 v9, v4, v5\n  v_add_f32_e32 v8, v9, v6\n"
    assert "v_dual" not in rewritten(kernel(dependent, "gfx1100", "v8,v9"), "gfx1100").after
    assert (
        "v_dual"
        not in rewritten(kernel(body, "gfx1030", "v8,v9").replace("s_load_b64", "s_load_dwordx2"), "gfx1030").after
    )


def test_high_registers_are_emptied_where_that_lets_more_waves_fit() -> None:
    body = "  v_add_u32_e32 v70, v4, v5\n  v_mul_lo_u32 v71, v70, v6\n  v_mul_lo_u32 v72, v70, v71\n"
    body += "  v_xor_b32_e32 v8, v72, v71\n"
    # gfx90a: 64 VGPRs let 8 waves fit on a SIMD, 72 let 7.
    text = kernel(body).replace("next_free_vgpr 32", "next_free_vgpr 73").replace("accum_offset 32", "accum_offset 76")
    result = rewritten(text)
    assert not [number for number in (70, 71, 72) if f"v{number}" in result.after]
    assert [advice for advice in result.advice if ".amdhsa_next_free_vgpr" in advice and "8 waves" in advice]
    stored = text.replace("global_store_dword v0, v8", "global_store_dword v0, v71")
    assert "v71" in rewritten(stored).after, "a store cannot be renamed, so nothing is gained"


def test_time_limit_stops_asking_and_says_so() -> None:
    text = kernel("  v_mov_b32_e32 v9, v4\n  v_add_f32_e32 v8, v9, v5\n")
    result = rewritten(text, seconds=0.0)
    assert result.after == text
    assert [advice for advice in result.advice if "stopped after 0 seconds" in advice]
