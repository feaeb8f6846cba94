"""Addresses made of v0 with all its packed work-item ids."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.packed_ids import unmasked_address
from tests.analysis.written_functions import FIRST_LINE, kernel


@pytest.mark.parametrize(
    ("body", "use", "access"),
    [
        ("v_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v2", 0, 1),
        ("v_mov_b32 v9, 0\nv_lshl_add_u32 v1, v0, 2, s3\nv_add_u32 v4, 64, v1\nglobal_load_dword v5, v4, s[4:5]", 1, 3),
        ("global_store_dword v0, v2, s[4:5]", 0, 0),
        ("v_lshlrev_b32 v1, 2, v0\nbuffer_store_dword v2, v1, s[4:7], 0 offen", 0, 1),
        ("v_mul_lo_u32 v1, v0, s3\nv_mov_b32 v0, 0\nds_read_b32 v2, v1", 0, 2),
    ],
)
def test_sums_shifts_and_products_are_followed(body: str, use: int, access: int) -> None:
    found = unmasked_address(kernel("gfx942", body + "\ns_endpgm"))
    assert found is not None
    assert [one.statement.place.line - FIRST_LINE for one in (found.use, found.access)] == [use, access]


@pytest.mark.parametrize(
    "body",
    [
        "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\nds_write_b32 v1, v2",
        "v_lshlrev_b32 v1, 2, v0\nv_and_b32 v1, 0xffc, v1\nds_write_b32 v1, v2",
        "v_bfe_u32 v1, v0, 0, 10\nds_write_b32 v1, v2",
        "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v1, 0\nds_write_b32 v1, v2",
        "v_mov_b32 v1, 0\nds_write_b32 v1, v0",
        "v_mov_b32 v1, 0\nbuffer_store_dword v0, v1, s[4:7], 0 offen",
        "buffer_store_dword v0, off, s[4:7], 0",
        "scratch_store_dword off, v0, off offset:8",
        "v_mov_b32 v3, v0\nscratch_store_dword off, v3, s4 offset:8",
        "v_lshlrev_b32 v1, 2, v0\ns_cbranch_scc0 .Lend\nds_write_b32 v1, v2\n.Lend:",
    ],
)
def test_what_takes_an_id_out_or_stores_it_is_quiet(body: str) -> None:
    assert unmasked_address(kernel("gfx942", body + "\ns_endpgm")) is None
