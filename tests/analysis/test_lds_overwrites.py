"""LDS that is overwritten while an asynchronous or tensor store may still read it."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_violations import WaitViolation, wait_violations
from tests.analysis.written_functions import FIRST_LINE, device_function, kernel

_FILL = "ds_store_b32 v3, v0\ns_wait_dscnt 0x0\n"
_STORE = "global_store_async_from_lds_b32 v1, v3, s[4:5]\n"
_TENSOR = "tensor_load_to_lds s[8:11], s[12:19]\ns_wait_tensorcnt 0x0\n"


def overwrites(body: str) -> list[WaitViolation]:
    return [one for one in wait_violations(pending_memory(kernel("gfx1250", body))) if one.counter != "xcnt"]


@pytest.mark.parametrize(
    "again",
    [
        "ds_store_b32 v3, v2",
        "ds_store_b64 v3, v[6:7]",
        "ds_add_u32 v3, v2",
        "ds_add_rtn_u32 v7, v3, v2",
        "s_barrier_signal -1\ns_barrier_wait -1\nds_store_b32 v3, v2",
    ],
)
def test_a_write_through_the_same_address_must_wait(again: str) -> None:
    (found,) = overwrites(_FILL + _STORE + again + "\ns_endpgm")
    assert (found.rule, found.required, found.registers) == ("wait.asynccnt.war", 0, 0)
    assert found.producer.statement.name == "global_store_async_from_lds_b32"
    assert overwrites(_FILL + _STORE + "s_wait_asynccnt 0x0\n" + again + "\ns_endpgm") == []


@pytest.mark.parametrize(
    "between",
    [
        "v_add_nc_u32 v3, 0x400, v3\nds_store_b32 v3, v2",
        "ds_store_b32 v3, v2 offset:1024",
        "ds_store_b32 v4, v2",
        "ds_store_2addr_b32 v3, v2, v2 offset1:8",
        "ds_load_b32 v5, v3",
        "global_load_async_to_lds_b32 v3, v1, s[6:7]",
    ],
)
def test_of_other_addresses_nothing_is_said(between: str) -> None:
    assert overwrites(_FILL + _STORE + between + "\ns_endpgm") == []


def test_a_buffer_that_alone_was_filled_is_refilled_too_early() -> None:
    refill = "s_add_co_u32 s10, s10, 64\n" + _TENSOR + "s_endpgm"
    (found,) = overwrites(_TENSOR + _STORE + refill)
    assert (found.rule, found.consumer.statement.place.line) == ("wait.asynccnt.war", FIRST_LINE + 4)
    assert overwrites(_TENSOR + _STORE + "s_wait_asynccnt 0x0\n" + refill) == []


@pytest.mark.parametrize(
    "body",
    [
        _TENSOR + _STORE + "s_xor_b32 s9, s9, 0x4000\n" + _TENSOR,
        _TENSOR + "tensor_load_to_lds s[20:23], s[12:19]\ns_wait_tensorcnt 0x0\n" + _STORE + _TENSOR,
        _TENSOR + "ds_store_b32 v9, v0\ns_wait_dscnt 0x0\n" + _STORE + _TENSOR,
        _TENSOR + "tensor_store_from_lds s[8:11], s[12:19]\n" + _TENSOR,
    ],
    ids=["other buffer", "two buffers", "two ways of filling", "same unit"],
)
def test_a_refill_of_what_may_be_another_buffer_is_quiet(body: str) -> None:
    assert overwrites(body + "s_endpgm") == []


def test_in_a_loop_the_refill_comes_in_the_next_iteration() -> None:
    loop = (
        ".Lloop:\n" + _TENSOR + _STORE + "{wait}s_sub_co_u32 s24, s24, 1\ns_cmp_lg_u32 s24, 0\ns_cbranch_scc1 .Lloop\n"
    )
    (found,) = overwrites(loop.format(wait="") + "s_endpgm")
    assert found.consumer.statement.name == "tensor_load_to_lds"
    assert overwrites(loop.format(wait="s_wait_asynccnt 0x0\n") + "s_endpgm") == []


def test_the_count_allows_for_later_stores() -> None:
    two = "ds_store_b32 v3, v0\nds_store_b32 v4, v0\ns_wait_dscnt 0x0\n" + _STORE
    two += (
        "global_store_async_from_lds_b32 v1, v4, s[6:7]\ns_wait_asynccnt {count}\nds_store_b32 {address}, v2\ns_endpgm"
    )
    assert overwrites(two.format(count=1, address="v3")) == []
    (found,) = overwrites(two.format(count=1, address="v4"))
    assert (found.required, found.found) == (0, 1)
    (found,) = overwrites(two.format(count=2, address="v3"))
    assert found.required == 1


def test_one_path_with_the_address_kept_is_enough() -> None:
    body = _FILL + _STORE + "s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 .Lskip\n{between}.Lskip:\nds_store_b32 v3, v2\ns_endpgm"
    assert len(overwrites(body.format(between="v_mov_b32 v3, v9\n"))) == 1
    waits = "s_wait_asynccnt 0x0\ns_branch .Lskip\n"
    assert len(overwrites(body.format(between=waits))) == 1


def test_a_device_function_does_not_know_what_filled_lds() -> None:
    function = device_function("gfx1250", _TENSOR + _STORE + _TENSOR + "s_setpc_b64 s[30:31]")
    assert [one for one in wait_violations(pending_memory(function)) if one.counter == "asynccnt"] == []
