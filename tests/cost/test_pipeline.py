"""The fast simulation against a slow one that keeps every dependence and every cause."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.cost.body import body_of
from asmevo_gate.cost.dependence import accumulates
from asmevo_gate.cost.pipeline import Wave
from asmevo_gate.cost.sequence import own_time
from asmevo_gate.cost.timing import SCALAR, Kind, Step, Timing, timing_for
from asmevo_gate.isa.instruction import Decoded
from tests.cost.programs import decode

REGISTER = st.integers(0, 5)


@st.composite
def gcn_lines(draw: st.DrawFn) -> str:
    a, b, c = draw(REGISTER), draw(REGISTER), draw(REGISTER)
    first = 4 * draw(st.integers(0, 1))
    return draw(
        st.sampled_from(
            [
                f"v_add_f32_e32 v{a}, v{b}, v{c}",
                f"v_exp_f32_e32 v{a}, v{b}",
                f"v_mfma_f32_16x16x16_f16 v[{first}:{first + 3}], v[{2 * (a // 2)}:{2 * (a // 2) + 1}], "
                f"v[{2 * (b // 2)}:{2 * (b // 2) + 1}], v[{first}:{first + 3}]",
                f"v_readfirstlane_b32 s{a}, v{b}",
                f"s_add_u32 s{a}, s{b}, s{c}",
                f"v_mul_f32_e32 v{a}, s{b}, v{c}",
                f"ds_read_b32 v{a}, v{b}",
                f"ds_write_b64 v{a}, v[{2 * (b // 2)}:{2 * (b // 2) + 1}]",
                f"s_waitcnt lgkmcnt({a % 3})",
                f"s_nop {a}",
                f"v_cmp_lt_f32_e32 vcc, v{a}, v{b}",
                "s_cbranch_vccnz loop",
            ]
        )
    )


@st.composite
def rdna_lines(draw: st.DrawFn) -> str:
    a, b, c = draw(REGISTER), draw(REGISTER), draw(REGISTER)
    return draw(
        st.sampled_from(
            [
                f"v_add_f32_e32 v{a}, v{b}, v{c}",
                f"v_exp_f32_e32 v{a}, v{b}",
                f"v_fma_f64 v[{a}:{a + 1}], v[{b}:{b + 1}], v[{c}:{c + 1}], v[{b}:{b + 1}]",
                f"v_dual_mul_f32 v{2 * a}, v8, v{b} :: v_dual_add_f32 v{2 * a + 1}, v9, v{c}",
                f"v_wmma_f32_16x16x16_f16 v[0:7], v[{8 + a}:{15 + a}], v[{8 + b}:{15 + b}], v[0:7]",
                f"s_add_u32 s{a}, s{b}, s{c}",
                f"v_readfirstlane_b32 s{a}, v{b}",
                f"v_mul_f32_e32 v{a}, s{b}, v{c}",
                f"ds_load_b32 v{a}, v{b}",
                "s_waitcnt lgkmcnt(1)",
                "s_delay_alu instid0(VALU_DEP_1)",
                f"s_nop {a}",
            ]
        )
    )


def latency(producer: Step, writes: int, consumer: Step, decoded: Decoded, common: int, timing: Timing) -> float:
    if producer.name == "matrix" == consumer.name and accumulates(decoded, writes):
        return producer.busy + timing.fingerprint.matrix_rules["accumulate_extra"].get(0.0)
    if not common & ~SCALAR and (producer.pipe, consumer.pipe) in timing.forwarding:
        return timing.forwarding[producer.pipe, consumer.pipe]
    return producer.latency


def slow_time(decoded: list[Decoded], timing: Timing) -> float:
    """When a single wave may issue what follows, with all dependences kept and nothing made ready."""
    steps = [timing.step(one) for one in decoded]
    held = {i + distance for i, step in enumerate(steps) for distance in step.delays}
    front = 0.0
    free = dict.fromkeys(range(-1, len(timing.pipe_names)), 0.0)
    started: list[tuple[float, int, Step]] = []
    vector: list[float] = []
    open_operations: dict[int, list[float]] = {}
    for i, (one, step) in enumerate(zip(decoded, steps, strict=True)):
        ready = front
        for start, writes, producer in started[-64:]:  # no latency reaches further back
            common = one.reads & writes
            if common:
                ready = max(ready, start + latency(producer, writes, step, one, common, timing))
        if step.kind == Kind.RUN_AHEAD and i not in held:
            leaves = max(front, vector[-timing.run_ahead]) if len(vector) >= timing.run_ahead else front
            start = max(leaves, ready)
            for pipe in {step.pipe, step.port} - {-1}:
                start = max(start, free[pipe])
            free[step.pipe] = start + step.busy
            if step.port >= 0:
                free[step.port] = start + step.port_busy
            vector.append(start)
            front = leaves + step.slot
        else:
            start = ready
            if step.kind in (Kind.IN_ORDER, Kind.RUN_AHEAD):
                for pipe in {step.pipe, step.port} - {-1}:
                    start = max(start, free[pipe])
                free[step.pipe] = start + step.busy
                if step.port >= 0:
                    free[step.port] = start + step.port_busy
            elif step.kind == Kind.MEMORY:
                for counter in step.counters:
                    times = open_operations.setdefault(counter, [])
                    if len(times) == timing.counter_depth[counter]:
                        start = max(start, times.pop(0))
                enters = max(start, free[step.pipe])
                free[step.pipe] = enters + step.busy
                for counter in step.counters:
                    times = open_operations[counter]
                    times.append(max([enters + step.shortest, *times]))
            elif step.kind == Kind.WAIT:
                for counter, limit in step.limits:
                    times = open_operations.get(counter, [])
                    while len(times) > limit:
                        start = max(start, times.pop(0))
            front = start + step.slot + (step.taken_extra if step.always_taken else 0.0)
        if step.kind in (Kind.IN_ORDER, Kind.RUN_AHEAD):
            started.append((start, one.writes, step))
    return front


@settings(max_examples=200, deadline=None)
@given(st.lists(gcn_lines(), min_size=1, max_size=30))
def test_gcn_agrees_with_the_slow_simulation(lines: list[str]) -> None:
    decoded = decode("gfx942", "\n".join(lines))
    timing = timing_for("gfx942", 64)
    assert own_time(body_of(decoded, timing, False).sequence, long_memory=False) == slow_time(decoded, timing)


@settings(max_examples=200, deadline=None)
@given(st.lists(rdna_lines(), min_size=1, max_size=30), st.sampled_from([32, 64]))
def test_rdna_agrees_with_the_slow_simulation(lines: list[str], size: int) -> None:
    if size == 64:
        lines = [line for line in lines if not line.startswith(("v_dual", "v_wmma"))] or ["s_nop 0"]
    decoded = decode("gfx1100", "\n".join(lines), size)
    timing = timing_for("gfx1100", size)
    assert own_time(body_of(decoded, timing, False).sequence, long_memory=False) == slow_time(decoded, timing)


@settings(max_examples=40, deadline=None)
@given(st.lists(gcn_lines(), min_size=1, max_size=12), st.integers(3, 6))
def test_a_loop_takes_what_its_unrolled_iterations_take(lines: list[str], times: int) -> None:
    """Steady state: the difference between many iterations and one more, run as straight code."""
    lines = [line for line in lines if not line.startswith("s_cbranch")] or ["s_nop 0"]
    decoded = decode("gfx942", "\n".join(lines))
    timing = timing_for("gfx942", 64)
    one = own_time(body_of(decoded, timing, True).sequence, long_memory=False)
    long, longer = 60, 60 + 6 * times
    grown = [slow_time(decoded * count, timing) for count in (long, longer)]
    assert (grown[1] - grown[0]) / (longer - long) == pytest.approx(one, rel=0.02, abs=0.5)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(rdna_lines()), min_size=1, max_size=25))
def test_a_trace_tells_the_times_of_the_run(lines: list[str]) -> None:
    decoded = decode("gfx1100", "\n".join(lines))
    timing = timing_for("gfx1100", 32)
    ready = body_of(decoded, timing, False).sequence.operations
    run, traced = Wave(timing, len(decoded), long_memory=True), Wave(timing, len(decoded), long_memory=True)
    end = run.run(ready)
    events = traced.trace(ready)
    assert events[-1].end == end
    assert [event.start for event in events] == run.starts
    for event in events:
        assert (event.start > event.arrived) == bool(event.cause), event


@settings(max_examples=100, deadline=None)
@given(st.lists(gcn_lines(), min_size=1, max_size=25))
def test_longer_memory_never_makes_a_run_shorter(lines: list[str]) -> None:
    lines = [*lines, "global_load_dword v0, v[2:3], off", "s_waitcnt vmcnt(0)"]
    sequence = body_of(decode("gfx942", "\n".join(lines)), timing_for("gfx942", 64), False).sequence
    assert own_time(sequence, long_memory=True) >= own_time(sequence, long_memory=False)
