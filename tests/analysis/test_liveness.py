"""Liveness on small programs, and its safety against an interpreter of four lanes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.analysis.liveness import Liveness, live_registers
from asmevo_gate.isa.registers import SPECIAL, VGPR, set_name
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source


def function(text: str, gpu: str = "gfx90a") -> Function:
    (only,) = build_program(parse_source("k.s", text), parse_target(gpu)).functions
    return only


def vector_names(live: Liveness) -> list[str]:
    return [set_name(before & VGPR.mask) for before in live.before]


def test_straight_line_code_is_exact() -> None:
    live = live_registers(
        function("k:\n v_mov_b32 v1, v0\n v_add_u32 v2, v1, v1\n global_store_dword v2, v0, s[0:1]\n s_endpgm")
    )
    assert vector_names(live) == ["v0", "v[0:1]", "v0, v2", "none"]
    assert (live.vgpr_peak.count, live.exact) == (2, True)


def test_a_dead_result_still_needs_a_register_beside_the_live_ones() -> None:
    live = live_registers(function("k:\n v_mov_b32 v1, v0\n v_mov_b32 v2, v0\n s_endpgm"))
    assert (live.vgpr_peak.count, live.vgpr_peak.index) == (2, 0)


def test_a_value_carried_round_a_loop_is_live_in_it() -> None:
    live = live_registers(
        function("k:\n.L:\n v_add_u32 v0, v0, v1\n s_cbranch_scc0 .L\n global_store_dword v0, v0, s[0:1]\n s_endpgm")
    )
    assert vector_names(live)[1] == "v[0:1]"


def test_a_write_under_a_narrowed_mask_does_not_end_the_old_value() -> None:
    live = live_registers(
        function(
            "k:\n s_and_saveexec_b64 s[4:5], vcc\n v_mov_b32 v0, v1\n s_or_b64 exec, exec, s[4:5]\n"
            " global_store_dword v2, v0, s[0:1]\n s_endpgm"
        )
    )
    assert vector_names(live)[0] == "v[0:2]"
    assert vector_names(live)[1] == "v[0:2]"


def test_a_partial_write_keeps_the_other_half_live() -> None:
    live = live_registers(
        function(
            "k:\n global_load_short_d16_hi v0, v1, s[0:1]\n global_store_dword v1, v0, s[0:1]\n s_endpgm",
            "gfx900",
        )
    )
    assert vector_names(live)[0] == "v[0:1]"


def test_scc_is_live_between_compare_and_branch() -> None:
    live = live_registers(function("k:\n s_cmp_eq_u32 s0, 0\n s_cbranch_scc1 .L\n s_nop 0\n.L:\n s_endpgm"))
    scc = 1 << SPECIAL["scc"]
    assert [bool(after & scc) for after in live.after[:2]] == [True, False]


def test_an_unknown_instruction_makes_the_result_inexact() -> None:
    assert not live_registers(function("k:\n v_frobnicate v0, v1\n s_endpgm")).exact


# --- safety: what is not live may be changed without any store seeing it ---

LANES = 4
REGISTERS = 4
FULL = (1 << LANES) - 1

_STEPS = st.one_of(
    st.tuples(st.just("mov"), st.integers(0, REGISTERS - 1), st.integers(0, REGISTERS - 1)),
    st.tuples(st.just("add"), st.integers(0, REGISTERS - 1), st.integers(0, REGISTERS - 1)),
    st.tuples(st.just("narrow"), st.integers(0, 1), st.integers(0, 1)),
    st.tuples(st.just("widen"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("restore"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("all"), st.just(0), st.just(0)),
    st.tuples(st.just("store"), st.integers(0, REGISTERS - 1), st.just(0)),
)
Step = tuple[str, int, int]


def _text(step: Step) -> str:
    kind, a, b = step
    saved, condition = f"s[{4 + 2 * a}:{5 + 2 * a}]", f"s[{8 + 2 * b}:{9 + 2 * b}]"
    return {
        "mov": f"v_mov_b32 v{a}, v{b}",
        "add": f"v_add_u32 v{a}, v{a}, v{b}",
        "narrow": f"s_and_saveexec_b64 {saved}, {condition}",
        "widen": f"s_or_b64 exec, exec, {saved}",
        "restore": f"s_mov_b64 exec, {saved}",
        "all": "s_mov_b64 exec, -1",
        "store": f"global_store_dword v{REGISTERS}, v{a}, s[0:1]",
    }[kind]


def _run(steps: list[Step], masks: tuple[int, int], at: int, change: int | None) -> list[tuple[int | None, ...]]:
    """The values that each store sends, by lane; register ``change`` is spoiled in every lane before step ``at``."""
    values = [[10 * register + lane for lane in range(LANES)] for register in range(REGISTERS)]
    active, saved = FULL, [FULL, FULL]
    stored: list[tuple[int | None, ...]] = []
    for number, (kind, a, b) in enumerate(steps):
        if number == at and change is not None:
            values[change] = [value + 1000 for value in values[change]]
        lanes = [lane for lane in range(LANES) if active >> lane & 1]
        if kind == "mov":
            for lane in lanes:
                values[a][lane] = values[b][lane]
        elif kind == "add":
            for lane in lanes:
                values[a][lane] += values[b][lane]
        elif kind == "narrow":
            saved[a], active = active, active & masks[b]
        elif kind == "widen":
            active |= saved[a]
        elif kind == "restore":
            active = saved[a]
        elif kind == "all":
            active = FULL
        else:
            stored.append(tuple(values[a][lane] if lane in lanes else None for lane in range(LANES)))
    return stored


@settings(max_examples=300, deadline=None)
@given(st.lists(_STEPS, min_size=1, max_size=12), st.tuples(st.integers(0, FULL), st.integers(0, FULL)))
def test_spoiling_a_register_that_is_not_live_changes_no_store(steps: list[Step], masks: tuple[int, int]) -> None:
    every = "".join(f" v_mov_b32 v{r}, v{r}\n" for r in range(REGISTERS))
    text = "k:\n" + every + "".join(f" {_text(step)}\n" for step in steps) + " s_endpgm\n"
    live = live_registers(function(text))
    for at in range(len(steps)):
        for register in range(REGISTERS):
            if not live.before[REGISTERS + at] >> (VGPR.start + register) & 1:
                assert _run(steps, masks, at, register) == _run(steps, masks, at, None), (at, register, text)
