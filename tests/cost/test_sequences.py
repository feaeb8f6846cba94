"""Blocks that differ only in what decides no time are one sequence; all others are not."""

from __future__ import annotations

import pytest

from asmevo_gate.cost.body import body_of
from asmevo_gate.cost.kernel import kernel_cost
from asmevo_gate.cost.sequence import StepSequence, own_time
from asmevo_gate.cost.timing import Timing, timing_for
from tests.cost.programs import decode, function


def sequence(text: str, timing: Timing, loop: bool = False) -> StepSequence:
    return body_of(decode("gfx1100", text), timing, loop).sequence


@pytest.fixture
def timing() -> Timing:
    return timing_for("gfx1100", 32)


CHAIN = "v_add_f32_e32 v0, v1, v2\nv_mul_f32_e32 v3, v0, v2"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(CHAIN, id="the same texts"),
        pytest.param("v_add_f32_e32 v7, v8, v9\nv_mul_f32_e32 v6, v9, v7", id="other registers, the same waits"),
        pytest.param("v_sub_f32_e32 v0, v1, v2\nv_max_f32_e32 v3, v0, v2", id="other mnemonics of the same timing"),
    ],
)
def test_what_takes_the_same_time_is_one_sequence(other: str, timing: Timing) -> None:
    assert sequence(other, timing) is sequence(CHAIN, timing)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("v_add_f32_e32 v0, v1, v2\nv_mul_f32_e32 v3, v4, v2", id="nothing waits"),
        pytest.param("v_add_f32_e32 v0, v1, v2\nv_exp_f32_e32 v3, v0", id="another unit"),
        pytest.param(f"{CHAIN}\ns_nop 0", id="one instruction more"),
        pytest.param("v_mul_f32_e32 v3, v0, v2\nv_add_f32_e32 v0, v1, v2", id="another order"),
    ],
)
def test_what_may_take_another_time_is_another_sequence(other: str, timing: Timing) -> None:
    assert sequence(other, timing) is not sequence(CHAIN, timing)


def test_a_loop_body_is_not_the_same_as_straight_code(timing: Timing) -> None:
    assert sequence(CHAIN, timing, loop=True) is not sequence(CHAIN, timing)


def test_wave_sizes_share_nothing() -> None:
    narrow, wide = (
        body_of(decode("gfx1100", CHAIN, size), timing_for("gfx1100", size), False).sequence for size in (32, 64)
    )
    assert (narrow.own_times(()), wide.own_times(())) == ((2.0, 2.0), (4.0, 4.0))


def test_blocks_of_one_sequence_differ_in_what_is_open_before_them() -> None:
    wait = "v_add_f32_e32 v0, v1, v2\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v5, v6"
    text = f"kernel:\n{wait}\nfirst:\nglobal_load_b32 v9, v[10:11], off\nsecond:\n{wait}\nend:\n s_endpgm\n"
    before, _, behind, _ = kernel_cost(function("gfx1100", text), 1).blocks
    assert before.cost.load.low == behind.cost.load.low
    assert before.cost.load.high < behind.cost.load.high


def test_each_block_keeps_its_own_texts() -> None:
    text = "kernel:\nv_add_f32_e32 v0, v1, v2\nsecond:\nv_sub_f32_e32 v3, v4, v5\nend:\ns_endpgm\n"
    first, second, _ = kernel_cost(function("gfx1100", text), 1).blocks
    assert [(entry.index, entry.text) for entry in first.cost.timeline] == [(0, "v_add_f32_e32 v0, v1, v2")]
    assert [(entry.index, entry.text) for entry in second.cost.timeline] == [(1, "v_sub_f32_e32 v3, v4, v5")]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asmevo_gate.cost.body._MAX_REMEMBERED", 10)
    timing = Timing(timing_for("gfx1100", 32).fingerprint, 32)
    for register in range(40):
        sequence(f"v_add_f32_e32 v{register}, v41, v42\nv_mov_b32_e32 v50, v51", timing)
        assert timing.remembered <= 12
        assert len(timing.sequences) <= 12


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        CHAIN,
        f"{CHAIN}\ns_waitcnt vmcnt(0)",
        f"global_load_b32 v9, v[10:11], off\n{CHAIN}",
        f"global_load_b32 v9, v[10:11], off\n{CHAIN}\ns_waitcnt vmcnt(0)",
        "\n".join(["ds_load_b32 v9, v10"] * 70),
    ],
)
def test_a_time_that_is_not_simulated_is_the_one_that_would_be(text: str, loop: bool, timing: Timing) -> None:
    found = sequence(text, timing, loop)
    for pending in ((), tuple((counter, 500.0) for counter in range(len(timing.counter_names)))):
        low = own_time(found, long_memory=False)
        assert found.own_times(pending) == (low, own_time(found, long_memory=True, pending=pending))
