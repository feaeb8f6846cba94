"""Memory counters: what is in flight, what a wait covers, and which access comes too early."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from tests.analysis.written_functions import device_function, kernel


def races(gpu: str, body: str) -> list[str]:
    """Each race as ``counter.access<=count @consumer``."""
    return described(pending_memory(kernel(gpu, body)))


def described(memory: PendingMemory) -> list[str]:
    return [
        f"{memory.model.track_names[race.track]}.{race.access}<={race.later} @{race.consumer}" for race in memory.races
    ]


def test_load_needs_the_wait_that_leaves_only_later_loads() -> None:
    body = """
    global_load_dword v2, v[0:1], off
    global_load_dword v3, v[0:1], off offset:4
    global_load_dword v4, v[0:1], off offset:8
    s_waitcnt vmcnt({count})
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx942", body.format(count=2)) == []
    assert races("gfx942", body.format(count=3)) == ["vmcnt.raw<=2 @4"]


def test_stores_count_in_vmcnt_on_gfx9_only() -> None:
    body = """
    global_load_dword v2, v[0:1], off
    global_store_dword v[4:5], v6, off
    s_waitcnt vmcnt(1)
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx906", body) == []
    assert races("gfx1030", body) == ["vmcnt.raw<=0 @3"]


def test_scalar_loads_end_in_any_order() -> None:
    body = """
    s_load_dword s4, s[0:1], 0x0
    s_load_dword s5, s[0:1], 0x4
    s_waitcnt lgkmcnt(1)
    s_mov_b32 s9, s4
    s_endpgm
    """
    assert races("gfx90a", body) == ["lgkmcnt.raw<=0 @3"]


def test_scalar_load_does_not_weaken_the_order_of_lds_reads() -> None:
    body = """
    ds_read_b32 v2, v0
    ds_read_b32 v3, v0 offset:4
    s_load_dword s4, s[0:1], 0x0
    s_waitcnt lgkmcnt({count})
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx90a", body.format(count=1)) == []
    assert races("gfx90a", body.format(count=2)) == ["lgkmcnt.raw<=1 @4"]


def test_flat_on_gfx9_leaves_only_waits_for_zero() -> None:
    body = """
    flat_load_dword v2, v[0:1]
    global_load_dword v3, v[0:1], off
    global_load_dword v4, v[0:1], off
    s_waitcnt vmcnt(1) lgkmcnt(0)
    v_mov_b32 v9, v3
    s_endpgm
    """
    assert races("gfx942", body) == ["vmcnt.raw<=0 @4"]
    assert races("gfx1030", body) == []


def test_flat_needs_both_counters() -> None:
    body = """
    flat_load_dword v2, v[0:1]
    s_waitcnt vmcnt(0)
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx942", body) == ["lgkmcnt.raw<=0 @2"]


def test_full_counter_blocks_issue_so_that_old_results_are_there() -> None:
    loads = "\n".join(f"ds_read_b32 v{number}, v0 offset:{4 * number}" for number in range(2, 2 + 15))
    for extra, expected in (("ds_read_b32 v30, v0", []), ("", ["lgkmcnt.raw<=14 @15"])):
        body = f"{loads}\n{extra}\nv_mov_b32 v40, v2\ns_endpgm"
        assert races("gfx942", body) == expected


@pytest.mark.parametrize(("gpu", "expected"), [("gfx942", []), ("gfx1100", []), ("gfx1200", ["loadcnt.waw<=0 @1"])])
def test_second_load_of_a_register_waits_where_loads_write_out_of_order(gpu: str, expected: list[str]) -> None:
    load = "global_load_b32" if gpu.startswith(("gfx11", "gfx12")) else "global_load_dword"
    body = f"{load} v2, v[0:1], off\n{load} v2, v[4:5], off\ns_endpgm"
    assert races(gpu, body) == expected


def test_write_over_a_pending_load_is_a_race() -> None:
    assert races("gfx942", "global_load_dword v2, v[0:1], off\nv_mov_b32 v2, 0\ns_endpgm") == ["vmcnt.waw<=0 @1"]


def test_loop_back_edge_carries_loads() -> None:
    body = """
    global_load_dword v2, v[0:1], off
    .Lloop:
    s_waitcnt vmcnt(0)
    v_mov_b32 v8, v2
    global_load_dword v2, v[0:1], off
    v_mov_b32 v9, {source}
    s_sub_u32 s4, s4, 1
    s_cbranch_scc1 .Lloop
    s_waitcnt vmcnt(0)
    s_endpgm
    """
    assert races("gfx942", body.format(source="v8")) == []
    assert races("gfx942", body.format(source="v2")) == ["vmcnt.raw<=0 @4"]


def test_join_takes_the_path_with_fewer_later_loads() -> None:
    body = """
    global_load_dword v2, v[0:1], off
    s_cbranch_scc1 .Lskip
    global_load_dword v3, v[0:1], off
    .Lskip:
    s_waitcnt vmcnt(1)
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx942", body) == ["vmcnt.raw<=0 @4"]


def test_irreducible_graph_converges() -> None:
    body = """
    s_cbranch_scc1 .Lb
    .La:
    global_load_dword v2, v[0:1], off
    s_cbranch_vccnz .Lend
    .Lb:
    ds_read_b32 v3, v0
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v9, v2
    s_cbranch_execz .La
    s_cbranch_scc0 .Lb
    .Lend:
    s_endpgm
    """
    assert races("gfx942", body) == ["vmcnt.raw<=0 @5"]


def test_sources_of_a_translation_on_gfx1250_wait_for_xcnt() -> None:
    body = "global_store_b32 v[0:1], v2, off\n{between}v_mov_b32 v2, 0\ns_endpgm"
    assert races("gfx1250", body.format(between="")) == ["xcnt.war<=0 @1"]
    assert races("gfx1200", body.format(between="")) == []
    for wait in ("s_wait_xcnt 0x0", "s_wait_storecnt 0x0", "s_wait_idle"):
        assert races("gfx1250", body.format(between=wait + "\n")) == []


def test_end_of_a_later_load_ends_translations_before_it() -> None:
    body = """
    global_store_b32 v[0:1], v2, off
    global_load_b32 v5, v[0:1], off
    s_wait_loadcnt 0x0
    v_mov_b32 v2, v5
    s_endpgm
    """
    assert races("gfx1250", body) == []


def test_scalar_and_vector_translations_exclude_each_other() -> None:
    body = "s_load_b32 s0, s[4:5], 0x0\nglobal_load_b32 v0, v[4:5], off\ns_mov_b32 s4, 0\ns_endpgm"
    assert races("gfx1250", body) == []


def test_exports_hold_their_sources_and_exec() -> None:
    body = "exp mrt0 v0, v1, v2, v3 done\n{wait}v_mov_b32 v1, 0\ns_endpgm"
    assert races("gfx1030", body.format(wait="")) == ["expcnt.war<=0 @1"]
    assert races("gfx1030", body.format(wait="s_waitcnt expcnt(0)\n")) == []
    assert races("gfx1030", "exp mrt0 v0, v1, v2, v3 done\ns_mov_b32 exec_lo, 0\ns_endpgm") == ["expcnt.war<=0 @1"]


def test_first_fill_of_lds_is_read_before_it_landed() -> None:
    body = "buffer_load_dword v1, s[8:11], 0 offen lds\n{wait}ds_read_b32 v2, v3\ns_endpgm"
    assert races("gfx1030", body.format(wait="s_waitcnt_vscnt null, 0x0\n")) == ["vmcnt.ldsdma<=0 @2"]
    assert races("gfx1030", body.format(wait="s_waitcnt vmcnt(0)\n")) == []


def test_lds_read_beside_a_prefetch_into_the_other_buffer_is_quiet() -> None:
    body = """
    buffer_load_dword v1, s[8:11], 0 offen lds
    s_waitcnt vmcnt(0)
    s_barrier
    buffer_load_dword v4, s[8:11], 0 offen lds
    ds_read_b32 v2, v3
    s_endpgm
    """
    assert races("gfx942", body) == []


def test_lds_write_in_flight_across_a_barrier() -> None:
    body = "ds_write_b32 v0, v1\n{wait}s_barrier\nds_read_b32 v2, v3\ns_endpgm"
    assert races("gfx942", body.format(wait="")) == ["lgkmcnt.barrier<=0 @2"]
    assert races("gfx942", body.format(wait="s_waitcnt lgkmcnt(0)\n")) == []


def test_lds_write_and_read_of_one_wave_need_no_wait() -> None:
    body = "ds_store_b32 v3, v0\nds_load_b32 v2, v3\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v4, v2\ns_endpgm"
    assert races("gfx1151", body) == []


def test_scratch_store_in_flight_when_registers_are_given_back() -> None:
    body = "scratch_store_b32 off, v0, s0\n{wait}s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm"
    assert races("gfx1100", body.format(wait="")) == ["vscnt.sendmsg<=0 @1"]
    assert races("gfx1100", body.format(wait="s_waitcnt_vscnt null, 0x0\n")) == []
    assert races("gfx1100", "global_store_b32 v[0:1], v2, off\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm") == []


def test_halves_of_a_register_are_merged_when_they_arrive() -> None:
    body = """
    global_load_short_d16 v2, v[0:1], off
    global_load_short_d16_hi v2, v[0:1], off offset:2
    s_waitcnt vmcnt(0)
    v_mov_b32 v9, v2
    s_endpgm
    """
    assert races("gfx942", body) == []


def test_unknown_wait_gives_no_report_and_is_listed() -> None:
    memory = pending_memory(
        kernel("gfx1030", "global_load_dword v2, v[0:1], off\ns_waitcnt_vmcnt s3, 0x0\nv_mov_b32 v9, v2\ns_endpgm")
    )
    assert described(memory) == []
    assert [index for index, _ in memory.not_modelled] == [1]
    assert [index for index, _ in memory.unknown_waits] == [1]


@pytest.mark.parametrize(("wait", "expected"), [("vmcnt(0)", 0), ("lgkmcnt(0)", 0), ("0xffff", 1)])
def test_the_old_wait_on_gfx12_waits_for_everything_if_for_anything(wait: str, expected: int) -> None:
    body = f"global_load_b32 v2, v[0:1], off\ns_waitcnt {wait}\nv_mov_b32 v9, v2\ns_endpgm"
    assert len(races("gfx1200", body)) == expected


@pytest.mark.parametrize("gpu", ["gfx1200", "gfx1250"])
@pytest.mark.parametrize(
    ("wait", "expected"),
    [("s_barrier_wait -1", 0), ("s_wait_kmcnt 0x0", 0), ("s_barrier_wait 1", 1), ("s_nop 0", 1)],
)
def test_the_answer_of_a_signal_is_there_behind_the_wait_for_its_barrier(gpu: str, wait: str, expected: int) -> None:
    body = f"s_barrier_signal_isfirst -1\n{wait}\ns_cselect_b32 s2, -1, 0\ns_endpgm"
    assert len(races(gpu, body)) == expected


def test_call_is_listed_as_not_modelled() -> None:
    memory = pending_memory(device_function("gfx942", "s_swappc_b64 s[30:31], s[4:5]\ns_endpgm"))
    assert memory.not_modelled[0][0] == 0


def test_wait_tells_what_it_covers() -> None:
    body = """
    global_load_dword v2, v[0:1], off
    global_load_dword v3, v[0:1], off offset:4
    s_waitcnt vmcnt(1)
    s_endpgm
    """
    explanation = pending_memory(kernel("gfx942", body)).explain_wait(2)
    assert explanation.limits == {"vmcnt": 1}
    assert [one.producer.index for one in explanation.completed] == [0]
    assert [(one.producer.index, one.count) for one in explanation.still_pending] == [(1, 0)]


def test_renamed_registers_give_no_report_and_are_listed() -> None:
    body = "s_set_vgpr_msb 0x41\nglobal_load_b32 v2, v[0:1], off\ns_set_vgpr_msb 0\nv_mov_b32 v9, v2\ns_endpgm"
    memory = pending_memory(kernel("gfx1250", body))
    assert described(memory) == []
    assert [index for index, _ in memory.not_modelled] == [1]
    assert races("gfx1250", body.replace("0x41", "0")) == ["loadcnt.raw<=0 @3"]


def test_unknown_instruction_ends_what_can_be_said() -> None:
    body = "global_load_dword v2, v[0:1], off\n{unknown}\nv_mov_b32 v9, v2\ns_endpgm"
    memory = pending_memory(kernel("gfx942", body.format(unknown="s_no_such_instruction 1")))
    assert described(memory) == []
    assert [index for index, _ in memory.not_modelled] == [1]
    assert races("gfx942", body.format(unknown="v_no_such_instruction v7")) == ["vmcnt.raw<=0 @2"]


@pytest.mark.parametrize(
    ("gpu", "producer", "counter"),
    [
        ("gfx1030", "image_sample v2, v[4:5], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D", "vmcnt"),
        ("gfx1200", "image_sample v2, [v4, v5], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D", "samplecnt"),
        ("gfx1200", "image_load v2, [v4, v5], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D", "loadcnt"),
        ("gfx1200", "image_bvh_intersect_ray v[2:5], [v0, v1, v[6:8], v[9:11], v[12:14]], s[0:3]", "bvhcnt"),
        ("gfx1100", "lds_param_load v2, attr0.x wait_vdst:15", "expcnt"),
    ],
)
def test_each_kind_counts_where_its_target_counts_it(gpu: str, producer: str, counter: str) -> None:
    assert races(gpu, f"{producer}\nv_mov_b32 v20, v2\ns_endpgm") == [f"{counter}.raw<=0 @1"]


def test_sample_and_load_write_registers_in_any_order() -> None:
    sample = "image_sample v2, v[4:5], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D"
    assert races("gfx1030", f"global_load_dword v2, v[0:1], off\n{sample}\ns_endpgm") == ["vmcnt.waw<=0 @1"]
    assert races("gfx1030", f"{sample}\n{sample}\ns_endpgm") == []


def test_interpolation_carries_its_own_wait() -> None:
    body = "lds_param_load v2, attr0.x wait_vdst:15\nv_interp_p10_f32 v3, v2, v4, v2 wait_exp:{count}\ns_endpgm"
    assert races("gfx1100", body.format(count=0)) == []
    assert races("gfx1100", body.format(count=1)) == ["expcnt.raw<=0 @1"]


def test_invalidation_counts_so_that_the_load_before_it_is_covered() -> None:
    body = "global_load_dword v2, v[0:1], off\nbuffer_inv sc1\ns_waitcnt vmcnt(1)\nv_mov_b32 v9, v2\ns_endpgm"
    assert races("gfx942", body) == []


def test_async_data_is_read_before_it_landed() -> None:
    body = "global_load_async_to_lds_b32 v0, v[2:3], off\n{wait}ds_load_b32 v5, v6\ns_endpgm"
    assert races("gfx1250", body.format(wait="")) == ["asynccnt.ldsdma<=0 @1"]
    assert races("gfx1250", body.format(wait="s_wait_asynccnt 0x0\n")) == []


def test_one_text_in_both_wave_sizes_locks_the_exec_of_each() -> None:
    body = "exp mrt0 v0, v1, v2, v3 done\ns_mov_b32 exec_hi, 0\ns_endpgm"
    for wave_size, found in ((32, []), (64, ["expcnt.war<=0 @1"]), (32, [])):
        assert described(pending_memory(kernel("gfx1030", body, wave_size))) == found
