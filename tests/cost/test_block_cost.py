"""One run of instructions: issue, dependences, waits, several waves, explanations."""

from __future__ import annotations

import msgspec
import pytest

from asmevo_gate.cost.block import block_cost
from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.cost.interval import Interval, in_words, low_of
from asmevo_gate.errors import GateError
from asmevo_gate.isa.instruction import NotDecoded
from asmevo_gate.program.model import Instruction
from tests.cost.programs import cost, decode, function

LOOP = "s_add_i32 s0, s0, 1\ns_cmp_lt_i32 s0, s1\ns_cbranch_scc1 loop"
MFMA = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"


def test_nothing_costs_nothing() -> None:
    nothing = block_cost([], load_fingerprint("gfx942"))
    assert (nothing.cycles, nothing.ipc, nothing.instructions) == (0, 0, 0)
    assert nothing.limited_by == "nothing: no instruction"
    assert nothing.timeline == ()


class TestDependences:
    def test_gcn_hides_the_latency_of_vector_results(self) -> None:
        assert cost("gfx942", "v_add_f32_e32 v0, v0, v1\n" * 8).cycles == 32

    def test_rdna_exposes_five_clk(self) -> None:
        assert cost("gfx1100", "v_add_f32_e32 v0, v0, v1\n" * 8).cycles == 40

    def test_independent_instructions_issue_each_clk(self) -> None:
        assert cost("gfx1100", "\n".join(f"v_add_f32_e32 v{i}, v40, v41" for i in range(8))).cycles == 8

    def test_a_half_distance_hides_half_of_the_latency(self) -> None:
        text = "v_add_f32_e32 v0, v0, v9\nv_add_f32_e32 v1, v1, v9\n" * 4
        assert cost("gfx1100", text).cycles == 20

    def test_a_chain_is_carried_from_iteration_to_iteration(self) -> None:
        assert cost("gfx1100", "v_exp_f32_e32 v0, v0").cycles == 10

    def test_an_accumulator_chain_of_mfma_has_no_gap(self) -> None:
        assert cost("gfx942", f"{MFMA}\n" * 4).cycles == 4 * 32

    def test_another_reader_of_an_mfma_result_waits_for_the_write_back(self) -> None:
        text = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], 0\nv_add_f32_e32 v8, v0, v9"
        assert cost("gfx942", text).cycles == pytest.approx(16 + 16 + 4, abs=4)

    def test_multiplicands_from_an_mfma_wait_for_the_write_back(self) -> None:
        chained = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]"
        crossed = "v_mfma_f32_16x16x16_f16 v[0:3], v[0:1], v[10:11], v[0:3]"
        assert cost("gfx942", chained).cycles == 16
        assert cost("gfx942", crossed).cycles == 16 + 16

    def test_the_scalar_unit_runs_past_a_stalled_vector_chain_on_rdna(self) -> None:
        chain = "v_add_nc_u32_e32 v0, v0, v1\n" * 16
        assert cost("gfx1100", chain + LOOP).cycles == 80

    def test_s_delay_alu_holds_the_wave_instead_of_the_pipe(self) -> None:
        plain = "v_exp_f32_e32 v0, v9\nv_add_f32_e32 v1, v0, v1\ns_add_u32 s2, s3, s4"
        delayed = plain.replace("v_add", "s_delay_alu instid0(TRANS32_DEP_1)\nv_add", 1)
        ends = [cost("gfx1100", text, loop=False).timeline[-1].start for text in (plain, delayed)]
        assert ends == [2, 11]


class TestCoIssue:
    def test_vector_work_hides_behind_a_matrix_instruction(self) -> None:
        free = "\n".join(f"v_add_f32_e32 v{40 + i}, v90, v91" for i in range(7))
        assert cost("gfx942", f"{MFMA}\n{free}").cycles == 32

    def test_but_not_in_its_head(self) -> None:
        free = "\n".join(f"v_add_f32_e32 v{40 + i}, v90, v91" for i in range(8))
        assert cost("gfx942", f"{MFMA}\n{free}").cycles == 36

    def test_fp64_matrix_instructions_leave_no_room(self) -> None:
        matrix = "v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7]"
        assert cost("gfx942", f"{matrix}\nv_add_f32_e32 v40, v90, v91").cycles == 32 + 4

    def test_packed_fp32_does_not_run_beside_a_matrix_instruction_on_gfx950(self) -> None:
        matrix = "v_mfma_f32_32x32x16_f16 v[0:15], v[32:35], v[36:39], v[0:15]"
        assert cost("gfx950", f"{matrix}\nv_add_f32_e32 v40, v90, v91").cycles == 32
        assert cost("gfx950", f"{matrix}\nv_pk_add_f32 v[40:41], v[90:91], v[92:93]").cycles == 32 + 4

    @pytest.mark.parametrize(
        ("modifiers", "clk"),
        [({}, 32), ({"cbsz": "4", "blgp": "4"}, 16), ({"cbsz": "2", "blgp": "3"}, 16), ({"blgp": "4"}, 32)],
    )
    def test_formats_decide_the_time_of_f8f6f4(self, modifiers: dict[str, str], clk: float) -> None:
        (plain,) = decode("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]")
        words = "".join(f" {name}:{value}" for name, value in modifiers.items())
        formatted = msgspec.structs.replace(plain, text=plain.text + words, modifiers=modifiers)
        assert block_cost([formatted], load_fingerprint("gfx950"), loop=True).cycles == clk


class TestMemory:
    def test_a_wait_for_vector_memory_is_an_interval(self) -> None:
        found = cost("gfx942", "global_load_dword v0, v[2:3], off\ns_waitcnt vmcnt(0)").cycles
        assert isinstance(found, Interval)
        assert found.low == 100
        assert found.high == 2880 + 4

    def test_without_a_wait_memory_costs_its_issue(self) -> None:
        text = "global_load_dword v0, v[2:3], off\nv_mov_b32_e32 v4, v5"
        found = cost("gfx942", text, loop=False, active_simds=1).cycles
        assert isinstance(found, Interval)
        assert found.low == 8
        assert found.high == pytest.approx(256 / 8.3, rel=0.01)

    def test_a_partial_wait_leaves_the_younger_loads_alone(self) -> None:
        loads = "".join(f"ds_read_b32 v{i}, v90\n" for i in range(4))
        waits = [cost("gfx942", f"{loads}s_waitcnt lgkmcnt({n})", loop=False, active_simds=1).cycles for n in (0, 2, 4)]
        assert waits == [12 + 32 + 4, 4 + 32 + 4, 16 + 4]

    def test_work_between_load_and_wait_hides_the_latency(self) -> None:
        between = "v_mov_b32_e32 v4, v5\n" * 8
        text = "ds_read_b32 v0, v90\n{}s_waitcnt lgkmcnt(0)"
        assert cost("gfx942", text.format(""), loop=False).cycles == 36
        assert cost("gfx942", text.format(between), loop=False).cycles == 4 + 32 + 4

    def test_gfx12_counters_are_told_apart(self) -> None:
        text = "ds_load_b32 v0, v90\nglobal_load_b32 v1, v[2:3], off\n{}"
        only_lds = cost("gfx1200", text.format("s_wait_dscnt 0x0"), loop=False).cycles
        both = cost("gfx1200", text.format("s_wait_loadcnt_dscnt 0x0"), loop=False).cycles
        assert isinstance(only_lds, Interval)
        assert isinstance(both, Interval)
        assert only_lds.low == 47 + 1
        assert both.low == 73 + 1
        assert only_lds.high < both.high

    def test_a_full_counter_holds_the_wave(self) -> None:
        writes = "ds_write_b128 v90, v[0:3]\n"
        last = [cost("gfx942", writes * count, loop=False).timeline[-1] for count in (16, 17)]
        assert [entry.waits_for for entry in last] == ["", "room in lgkmcnt"]
        assert last[1].start == 20 + 60

    def test_what_was_open_at_the_start_may_be_waited_for(self) -> None:
        text = "s_waitcnt vmcnt(0)\nv_mov_b32_e32 v0, v1"
        assert cost("gfx942", text, loop=False).cycles == 8
        found = cost("gfx942", text, loop=False, pending={"vmcnt": 1000.0}).cycles
        assert found == Interval(8, 1008)

    def test_many_waves_are_bound_by_dram_at_worst(self) -> None:
        text = "global_load_dwordx4 v[0:3], v[8:9], off\n" * 8 + "s_waitcnt vmcnt(0)"
        few, many = cost("gfx90a", text, 1), cost("gfx90a", text, 8)
        assert isinstance(few.cycles, Interval)
        assert isinstance(many.cycles, Interval)
        assert many.cycles.high == pytest.approx(8 * 4 * 8 * 1024 / 7.9)
        assert many.limited_by.startswith("memory bandwidth at worst")

    def test_a_wait_whose_count_is_not_known_widens_the_interval(self) -> None:
        text = "ds_read_b32 v0, v90\ns_waitcnt lgkmcnt(0)\nglobal_load_dword v1, v[2:3], off\n"
        unknown = cost("gfx1030", text + "s_waitcnt_vmcnt s0, 0x0", loop=False)
        assert isinstance(unknown.cycles, Interval)
        assert any("how far it waits" in word for word in unknown.assumptions)


class TestWaves:
    def test_waves_share_the_vector_unit(self) -> None:
        text = "v_add_f32_e32 v0, v0, v1\n" * 8
        assert cost("gfx942", text, 4).cycles == 4 * 32

    def test_waves_hide_each_others_latency_on_rdna(self) -> None:
        text = "v_add_f32_e32 v0, v0, v1\n" * 8
        assert [cost("gfx1100", text, waves).cycles for waves in (1, 5, 8)] == [40, 40, 64]

    def test_ipc_counts_the_instructions_of_all_waves(self) -> None:
        text = "v_add_f32_e32 v0, v0, v1\n" * 8
        assert cost("gfx1100", text, 1).ipc == pytest.approx(0.2)
        assert cost("gfx1100", text, 8).ipc == pytest.approx(1.0)

    def test_vector_and_scalar_work_of_different_waves_overlap_on_gcn(self) -> None:
        text = "v_add_f32_e32 v0, v2, v1\ns_add_u32 s0, s1, s2\n" * 4
        assert cost("gfx942", text, 1).cycles == 32
        assert cost("gfx942", text, 2).cycles == 32
        assert cost("gfx942", text, 4).cycles == 64

    def test_more_waves_never_take_less_time(self) -> None:
        text = f"{MFMA}\nv_exp_f32_e32 v9, v8\nds_read_b32 v7, v6\ns_waitcnt lgkmcnt(0)"
        clk = [low_of(cost("gfx942", text, waves).cycles) for waves in range(1, 9)]
        assert clk == sorted(clk)

    def test_a_wave_size_that_the_gpu_lacks_is_refused(self) -> None:
        with pytest.raises(GateError, match="no waves of 32 lanes"):
            cost("gfx942", "s_nop 0", wave_size=32)


class TestExplanations:
    def test_time_line_names_what_is_waited_for(self) -> None:
        line = cost("gfx1100", "v_exp_f32_e32 v0, v9\ns_nop 0\nv_add_f32_e32 v1, v0, v1", loop=False).timeline
        assert [entry.start for entry in line] == [0, 1, 10]
        assert line[2].waits_for == "the result of 'v_exp_f32_e32 v0, v9'"
        assert line[0].waits_for == ""

    def test_time_line_of_a_loop_is_one_of_its_steady_iterations(self) -> None:
        found = cost("gfx942", f"{MFMA}\n{LOOP}")
        assert found.timeline[0].arrived == 0
        assert found.timeline[-1].end == found.cycles

    @pytest.mark.parametrize(
        ("target", "text", "waves", "words"),
        [
            ("gfx942", MFMA, 4, "throughput of the matrix core (4 waves share it)"),
            ("gfx1100", "v_add_f32_e32 v0, v0, v1\n" * 8, 1, "waiting for results of the VALU"),
            ("gfx942", "s_nop 15\nv_mov_b32_e32 v0, v1", 1, "s_nop"),
            ("gfx1100", LOOP, 1, "taken branches"),
            ("gfx942", "ds_read_b32 v0, v0\ns_waitcnt lgkmcnt(0)", 1, "waiting for memory (lgkmcnt)"),
            ("gfx1100", "v_exp_f32_e32 v0, v1\nv_exp_f32_e32 v2, v3", 1, "throughput of the transcendental"),
        ],
    )
    def test_limit_in_words(self, target: str, text: str, waves: int, words: str) -> None:
        assert words in cost(target, text, waves).limited_by

    def test_pipe_use_is_a_share_of_the_time(self) -> None:
        use = cost("gfx90a", "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]", 8).pipe_use
        assert use["matrix"] == 1
        assert use["valu"] == pytest.approx(1 / 16)

    def test_a_figure_that_nobody_published_is_named(self) -> None:
        found = cost("gfx1250", "v_rcp_f64_e32 v[0:1], v[2:3]")
        assert any("no published interval" in word or "stands in" in word for word in found.assumptions)

    def test_words_for_cycles(self) -> None:
        assert in_words(64.0) == "64"
        assert in_words(2.5) == "2.5"
        assert in_words(Interval(100, 1020)) == "100..1020"


def test_an_instruction_without_meaning_is_listed_and_costs_nothing() -> None:
    known = decode("gfx942", "v_mov_b32_e32 v0, v1")[0]
    statement = function("gfx942", "kernel:\n v_mov_b32_e32 v0, v1\n").instructions[0].statement
    bad = Instruction(1, statement, None, NotDecoded("v_bogus v0", "v_bogus", "unknown_mnemonic", "no such"))
    found = block_cost([Instruction(0, statement, known), bad], load_fingerprint("gfx942"), loop=False)
    assert found.cycles == 4
    assert found.not_modelled == ("v_bogus v0",)
