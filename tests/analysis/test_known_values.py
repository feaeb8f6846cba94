"""What registers surely hold: constants, ids and launch values over all paths and under EXEC."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.known_state import address
from asmevo_gate.analysis.known_values import known_operands
from asmevo_gate.analysis.symbolic_values import LOADED, PACKED_IDS, Value, constant
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.source.parser import parse_source

ACCUM = "  .amdhsa_accum_offset 8\n"


def kernel(body: str, gpu: str = "gfx900", directives: str = "") -> Function:
    text = kernel_text(body, directives)
    return build_program(parse_source("k.s", text), find_target(gpu)).functions[0]


def last_address(body: str, gpu: str = "gfx900", directives: str = "") -> Value | None:
    """The value of the address register of the last LDS load."""
    function = kernel(body, gpu, directives)
    known = known_operands(function)
    index = max(one.index for one in function.instructions if one.statement.name.startswith("ds_"))
    return known[index][1][0] if index in known else None


READ = "  ds_read_b32 v3, v2\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  v_mov_b32 v2, 64\n", constant(64)),
        ("  s_movk_i32 s4, 0x40\n  s_lshl_b32 s4, s4, 2\n  v_mov_b32 v2, s4\n", constant(256)),
        ("  v_lshlrev_b32 v2, 2, v0\n", Value("x", 4)),
        ("  v_lshlrev_b32 v2, 2, v0\n  v_add_u32 v2, 16, v2\n", Value("x", 4, 16)),
        ("  v_mul_u32_u24 v2, 12, v0\n  v_or_b32 v2, 2, v2\n", Value("x", 12, 2)),
        ("  v_mul_u32_u24 v2, 12, v0\n  v_or_b32 v2, 4, v2\n", None),
        ("  v_mov_b32 v2, v7\n", None),
        ("  v_mov_b32_dpp v2, v0 row_shl:1 row_mask:0xf bank_mask:0xf\n", None),
    ],
)
def test_arithmetic_on_constants_and_ids(body: str, expected: Value | None) -> None:
    assert last_address(body + READ) == expected


def test_packed_ids_are_told_apart() -> None:
    assert last_address("  v_mov_b32 v2, v0\n" + READ, "gfx90a", ACCUM) == Value(PACKED_IDS)
    assert last_address("  v_bfe_u32 v2, v0, 10, 10\n" + READ, "gfx90a", ACCUM) == Value("y")
    assert last_address("  v_and_b32 v2, 0x3ff, v0\n" + READ, "gfx90a", ACCUM) == Value("x")


JOIN = "  s_cbranch_scc1 .Lother\n  v_mov_b32 v2, {}\n.Lother:\n"


def test_paths_must_agree() -> None:
    assert last_address("  v_mov_b32 v2, 64\n" + JOIN.format(64) + READ) == constant(64)
    assert last_address("  v_mov_b32 v2, 64\n" + JOIN.format(65) + READ) is None


MASKED = "  v_mov_b32 v2, 64\n  s_and_saveexec_b64 s[8:9], vcc\n{}{}"
RESTORE = "  s_or_b64 exec, exec, s[8:9]\n"


def test_a_write_under_a_mask_is_forgotten_where_lanes_come_back() -> None:
    change = "  v_mov_b32 v2, 65\n"
    assert last_address(MASKED.format(change, READ)) == constant(65)
    assert last_address(MASKED.format(change, RESTORE) + READ) is None
    assert last_address(MASKED.format("", RESTORE) + READ) == constant(64)


def test_an_id_under_a_mask_is_not_the_whole_range() -> None:
    ids = "  v_lshlrev_b32 v2, 2, v0\n"
    assert last_address(ids + MASKED.format("", READ).replace("  v_mov_b32 v2, 64\n", "")) is None
    assert last_address(ids + MASKED.format("", RESTORE).replace("  v_mov_b32 v2, 64\n", "") + READ) == Value("x", 4)


def test_lanes_that_the_launch_did_not_start_hold_nothing_known() -> None:
    assert last_address("  v_mov_b32 v2, 64\n  s_mov_b64 exec, -1\n" + READ) is None


def test_scalar_loads_are_followed_from_the_argument_pointer() -> None:
    function = kernel("  s_load_dwordx2 s[4:5], s[0:1], 0x10\n  s_load_dwordx2 s[6:7], s[4:5], 0x8\n")
    known = known_operands(function)
    first, second = (one.decoded for one in function.instructions[:2])
    assert first is not None and second is not None
    assert address(first, known[0]) == ("kernarg segment address", 16)
    assert known[1][1][0] == Value(LOADED + "kernarg segment address", 1, 16)


def test_a_call_and_an_unknown_instruction_end_all_knowledge() -> None:
    assert last_address("  v_mov_b32 v2, 64\n  s_swappc_b64 s[30:31], s[4:5]\n" + READ) is None
    assert last_address("  v_mov_b32 v2, 64\n  v_no_such_thing v9\n" + READ) is None


def test_a_loop_that_changes_a_register_ends() -> None:
    loop = "  v_mov_b32 v2, 0\n.Lagain:\n  v_add_u32 v2, 4, v2\n" + READ + "  s_cbranch_scc1 .Lagain\n"
    assert last_address(loop) is None


@pytest.mark.parametrize(
    "between",
    [
        "  v_add_f32 v2, v5, v6\n",
        "  v_add_f32 v5, v6, v6\n  v_add_f32 v2, v5, v6\n  v_add_f32 v5, v6, v6\n",
        "  v_add_f64 v[1:2], v[4:5], v[6:7]\n",
        "  global_load_dword v2, v[4:5], off\n",
        "  s_swappc_b64 s[30:31], s[4:5]\n",
    ],
)
def test_an_overwritten_register_is_not_known(between: str) -> None:
    assert last_address("  v_mov_b32 v2, 64\n" + READ) == constant(64)
    assert last_address("  v_mov_b32 v2, 64\n" + between + READ) is None


def test_registers_on_the_way_are_followed_though_no_access_names_them() -> None:
    body = "  s_mov_b32 s9, 3\n  s_mov_b32 s8, s9\n  v_mov_b32 v5, s8\n  v_lshl_add_u32 v2, v5, 2, v5\n"
    assert last_address(body + READ) == constant(15)
    assert last_address(body.replace("v5, s8\n", "v5, s8\n  s_mov_b32 s8, s3\n  v_mov_b32 v5, s8\n") + READ) is None
