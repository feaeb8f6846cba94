"""s_nop advice: exact on small programs, quiet where it cannot know, and safe when all of it is followed."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.constraints import wait_state_needs
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.nop_slack import NopSlack, nop_slack
from asmevo_gate.constraints.reference import violations
from asmevo_gate.constraints.wait_state_needs import SETTLES
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source
from tests.constraints.edge_programs import texts
from tests.constraints.programs import kernel
from tests.oracles.generated_kernels import compile_module, compiler_version

_TARGETS = (("gfx906", 64), ("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1010", 32),
            ("gfx1030", 32), ("gfx1100", 64), ("gfx1200", 32), ("gfx1250", 32))  # fmt: skip
_FAR = "s_mov_b32 s90, s91\n" * 20
"""Puts the start of the kernel, before which anything may have run, out of reach."""
_DPP = "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"


def _advice(gpu: str, text: str) -> list[tuple[int, int]]:
    """Wait states before and after, of each s_nop with advice."""
    function = kernel(gpu, _FAR + text)
    return [(one.count, one.enough) for one in nop_slack(FunctionView(function, graph_for(function.target)))]


def _followed(text: str, advice: tuple[NopSlack, ...]) -> str:
    """The text with all advice followed; a removed s_nop leaves an empty line."""
    lines = text.split("\n")
    for one in advice:
        place = one.nop.statement.place.line - 1
        assert "s_nop" in lines[place]
        lines[place] = f"s_nop {one.enough - 1}" if one.enough else ""
    return "\n".join(lines)


def _broken(function: Function) -> set[tuple[str, int, int, int | None]]:
    """Broken edges by line. Where no distance helps, distance and which of several producers is the nearest say nothing
    and are left out."""
    return {
        (
            one.edge_id,
            one.consumer.statement.place.line,
            one.producer.statement.place.line if one.producer and one.needed is not None else 0,
            one.found if one.needed is not None else None,
        )
        for one in violations(function, graph_for(function.target))
    }


def test_the_least_length_that_keeps_the_distance_is_advised() -> None:
    assert _advice("gfx942", f"v_mov_b32 v1, 0\ns_nop 4\n{_DPP}\nv_mov_b32 v9, v8\ns_endpgm") == [(5, 2)]


def test_an_exact_nop_gets_no_advice() -> None:
    assert _advice("gfx942", f"v_mov_b32 v1, 0\ns_nop 1\n{_DPP}\nv_mov_b32 v9, v8\ns_endpgm") == []


def test_instructions_between_count_as_well() -> None:
    assert _advice("gfx942", f"v_mov_b32 v1, 0\nv_mov_b32 v5, 0\ns_nop 1\n{_DPP}\ns_mov_b32 s4, 0\ns_endpgm") == [
        (2, 1)
    ]


def test_a_nop_between_unrelated_instructions_can_go() -> None:
    assert _advice("gfx90a", "v_mov_b32 v1, v0\ns_nop 0\nv_mov_b32 v2, v3\ns_mov_b32 s4, 0\ns_endpgm") == [(1, 0)]


def test_two_nops_of_one_pair_are_not_both_removed() -> None:
    text = f"v_mov_b32 v1, 0\ns_nop 1\ns_nop 1\n{_DPP}\ns_mov_b32 s4, 0\ns_endpgm"
    assert _advice("gfx942", text) == [(2, 0)]


def test_the_shortest_path_decides() -> None:
    text = (
        "s_cbranch_scc0 .Lnear\nv_mov_b32 v1, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 0\n.Ljoin:\ns_nop 1\n"
        f"{_DPP}\ns_mov_b32 s4, 0\ns_endpgm\n.Lnear:\nv_mov_b32 v1, 1\ns_branch .Ljoin"
    )
    assert _advice("gfx942", text) == [(2, 1)]


def test_a_pair_around_a_loop_keeps_its_nop() -> None:
    text = (
        f".Lloop:\n{_DPP}\ns_mov_b32 s4, 0\nv_mov_b32 v1, 0\ns_nop 0\ns_cbranch_scc0 .Lloop\ns_mov_b32 s4, 0\ns_endpgm"
    )
    assert _advice("gfx942", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "s_nop 0\ns_endpgm",
        "v_mov_b32 v1, 0\ns_nop 3\ns_swappc_b64 s[30:31], s[34:35]\ns_endpgm",
        "v_mov_b32 v1, 0\ns_nop 1\ns_setpc_b64 s[30:31]",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\ns_nop 3\nv_mov_b32 v1, 0\ns_endpgm",
        "s_icache_inv\ns_nop 0\ns_nop 0\ns_nop 0\nv_mov_b32 v1, 0\ns_endpgm",
        "s_nop 0\n.Lloop:\nv_mov_b32 v1, 0\ns_cbranch_scc0 .Lloop\ns_endpgm",
        "s_branch .Lend\ns_nop 0\ns_nop 0\ns_mov_b32 s4, 0\n.Lend:\ns_endpgm",
        "s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v1, v0\ns_nop 0\nv_mov_b32 v2, v3\ns_set_gpr_idx_off\ns_endpgm",
    ],
    ids=["end", "call", "return", "setreg", "icache", "loop head", "unreachable", "register index"],
)  # fmt: skip
def test_nothing_is_said_where_the_nop_may_serve_something_else(text: str) -> None:
    assert _advice("gfx90a", text) == []


def test_what_a_callee_may_do_first_counts_as_a_hazard() -> None:
    text = "v_readfirstlane_b32 s6, v0\ns_nop 4\ns_mov_b32 s4, 0\ns_swappc_b64 s[30:31], s[34:35]\ns_endpgm"
    assert _advice("gfx942", text) == [(5, 4)]


def test_the_start_of_a_function_counts_as_any_producer() -> None:
    function = kernel("gfx942", f"s_nop 3\n{_DPP}\ns_mov_b32 s4, 0\ns_endpgm")
    assert nop_slack(FunctionView(function, graph_for(function.target))) == ()


def test_nothing_ran_before_a_kernel() -> None:
    text = f"k:\ns_mov_b32 s4, 0\ns_nop 3\n{_DPP}\ns_endpgm\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n"
    text += ".amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n"
    (function,) = build_program(parse_source("k.s", text), find_target("gfx942"), 64).functions
    assert [one.enough for one in nop_slack(FunctionView(function, graph_for(function.target)))] == [0]


def test_a_macro_gets_no_advice_for_one_of_its_uses() -> None:
    text = ".macro gap\ns_nop 4\n.endm\n" + _FAR + f"v_mov_b32 v1, 0\ngap\n{_DPP}\ns_mov_b32 s4, 0\ns_endpgm"
    function = kernel("gfx942", text)
    assert any(one.decoded and one.decoded.base == "s_nop" for one in function.instructions)
    assert nop_slack(FunctionView(function, graph_for(function.target))) == ()


def test_a_branch_over_a_number_of_words_forbids_removal_but_not_shortening() -> None:
    text = "v_mov_b32 v1, v0\ns_nop 3\nv_mov_b32 v2, v3\ns_cbranch_scc0 2\nv_mov_b32 v4, v3\nv_mov_b32 v5, v3\ns_endpgm"
    assert _advice("gfx90a", text) == [(4, 1)]


def test_a_removal_would_draw_another_instruction_into_the_clause() -> None:
    loads = "global_load_dword v1, v2, s[4:5]\ns_nop 0\nglobal_load_dword v3, v2, s[4:5]\ns_endpgm"
    assert _advice("gfx1030", loads) == [(1, 0)]
    assert _advice("gfx1030", f"s_clause 0x2\n{loads}") == []


def test_advice_on_a_repeated_run_counts_what_was_shortened_before() -> None:
    run = f"v_mov_b32 v1, 0\ns_nop 1\ns_nop 1\n{_DPP}\n" + "s_mov_b32 s4, 0\n" * 9
    assert _advice("gfx942", f"{run * 4}s_endpgm") == [(2, 0)] * 4


def _random_text(gpu: str, wave: int, seed: int) -> str:
    rng = random.Random(seed)
    known = [text for text, traits in texts(gpu, wave) if traits.nodes and ".Lend" not in text]
    some = rng.sample(known, min(len(known), 12))
    waits = ["s_nop 0", "s_nop 1", "s_nop 4", "s_nop 7", "s_nop 15", "v_nop"]
    lines: list[str] = []
    for number in range(rng.randint(20, 80)):
        if rng.random() < 0.06:
            lines.append(f".L{number}:")
        lines.append(rng.choice(waits) if rng.random() < 0.3 else rng.choice(some))
    placed = [line[:-1] for line in lines if line.startswith(".L")]
    for _ in range(min(len(placed), rng.randint(0, 4))):
        lines.insert(
            rng.randrange(len(lines) + 1), f"{rng.choice(('s_cbranch_scc0', 's_branch'))} {rng.choice(placed)}"
        )
    return _FAR + "\n".join([*lines, "s_endpgm"])


@pytest.mark.parametrize(("gpu", "wave"), _TARGETS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 30))
def test_following_all_advice_breaks_no_edge(gpu: str, wave: int, seed: int) -> None:
    text = f"k:\n{_random_text(gpu, wave, seed)}\n"
    target = find_target(gpu)

    def built(source: str) -> Function:
        (function,) = build_program(parse_source("k.s", source), target, wave).functions
        return function

    before = built(text)
    advice = nop_slack(FunctionView(before, graph_for(target)))
    assert _broken(built(_followed(text, advice))) <= _broken(before)


@pytest.mark.parametrize(("gpu", "wave"), _TARGETS)
@pytest.mark.parametrize("seed", range(12))
def test_pairs_that_are_left_out_change_no_advice(
    gpu: str, wave: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel of which all code is seen gets the advice that it gets when any pair is asked for."""
    lines = [line for line in _random_text(gpu, wave, seed).split("\n") if not line.startswith(SETTLES)]
    function = kernel(gpu, "\n".join(lines), wave, vgprs=256)
    view = FunctionView(function, graph_for(function.target))
    advice = nop_slack(view)
    monkeypatch.setattr(wait_state_needs, "_is_closed", lambda view: False)
    assert nop_slack(view) == advice


@pytest.mark.skipif(compiler_version() is None, reason="needs llc-22")
@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942"])
def test_following_all_advice_on_compiled_kernels_breaks_no_edge(gpu: str) -> None:
    target = find_target(gpu)
    graph = graph_for(target)
    nops = advised = 0
    for seed in (5, 6, 7, 8):
        module = compile_module(gpu, seed, "-O2")
        before = build_program(parse_source("k.s", module.text), target, module.wave).functions
        text = module.text
        for function in before:
            advice = nop_slack(FunctionView(function, graph))
            text = _followed(text, advice)
            advised += len(advice)
            nops += sum(1 for one in function.instructions if one.decoded is not None and one.decoded.base == "s_nop")
        after = build_program(parse_source("k.s", text), target, module.wave).functions
        assert len(after) == len(before)
        for old, new in zip(before, after, strict=True):
            assert _broken(new) <= _broken(old)
    assert nops > 20
    assert advised <= nops / 10
