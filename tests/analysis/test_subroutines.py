"""Subroutines of a kernel, reached by computed calls: faults in them and over their calls are found, correct code
passes, and what is not followed is not checked."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.liveness import live_registers
from asmevo_gate.cost.kernel import kernel_cost
from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.isa.registers import SGPR, VGPR
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.model import Function
from asmevo_gate.source.options import SourceOptions

GPUS = ("gfx90a", "gfx942", "gfx1100", "gfx1200")
_GFX9 = {"gfx90a", "gfx942"}


def spelled(gpu: str, text: str) -> str:
    """The code for a GPU, from placeholders for what has another name on each."""
    names = (
        ("LOAD", "global_load_dword", "global_load_b32"),
        ("STORE", "global_store_dword", "global_store_b32"),
        ("SCALAR", "s_load_dwordx2", "s_load_b64"),
        ("ARRIVED", "s_waitcnt vmcnt(0)", "s_wait_loadcnt 0x0" if gpu == "gfx1200" else "s_waitcnt vmcnt(0)"),
        ("KERNARG", "s_waitcnt lgkmcnt(0)", "s_wait_kmcnt 0x0" if gpu == "gfx1200" else "s_waitcnt lgkmcnt(0)"),
    )
    for name, gfx9, later in names:
        text = text.replace(name, gfx9 if gpu in _GFX9 else later)
    return text


def address(label: str) -> str:
    return f"s_getpc_b64 s[4:5]\ns_add_i32 s6, {label}, 4\ns_add_u32 s4, s4, s6\ns_addc_u32 s5, s5, 0\n"


CHOICE = f"s_cmp_eq_u32 s7, 0\ns_cbranch_scc1 .Lb\n{address('double')}s_branch .Lc\n.Lb:\n{address('limit')}.Lc:\n"
CALL = "s_swappc_b64 s[8:9], s[4:5]\n"
DOUBLE = "double:\nv_add_f32 v1, v1, v1\ns_setpc_b64 s[8:9]\n"
LIMIT = "limit:\nv_max_f32 v1, 0, v1\nv_mov_b32 v2, 1.0\nv_min_f32 v1, v1, v2\ns_setpc_b64 s[8:9]\n"
START = f"SCALAR s[10:11], s[0:1], 0x0\nSCALAR s[12:13], s[0:1], 0x8\nKERNARG\ns_mov_b32 s7, s12\n{CHOICE}"
LOAD = "LOAD v1, v0, s[10:11]\n"
END = "STORE v0, v1, s[10:11]\ns_endpgm\n"


def check(gpu: str, body: str) -> CheckedProgram:
    accumulator = " .amdhsa_accum_offset 8\n" if gpu in _GFX9 else ""
    descriptor = (
        ".rodata\n.amdhsa_kernel k\n .amdhsa_user_sgpr_kernarg_segment_ptr 1\n .amdhsa_next_free_vgpr 8\n"
        f" .amdhsa_next_free_sgpr 32\n{accumulator}.end_amdhsa_kernel\n"
    )
    text = f".text\nk:\n{spelled(gpu, body)}{descriptor}"
    return check_text("k.s", text, parse_target(gpu), SourceOptions())


def found(checked: CheckedProgram) -> list[tuple[str, str]]:
    """Rule and severity of each finding about the code, with the family of memory waits under its own names."""
    return [
        (one.violation.rule or one.rule.id, one.violation.severity or one.rule.severity)
        for one in checked.violations
        if one.rule.family in ("wait", "hazard", "control-flow", "register")
    ]


def waits(checked: CheckedProgram) -> list[tuple[str, str, str]]:
    """Access, and the mnemonics of producer and consumer, of each finding about waits."""
    return [
        (one.access, one.producer.statement.name, one.consumer.statement.name)
        for kernel in checked.kernels
        for one in kernel.wait_violations
    ]


def only(checked: CheckedProgram) -> Function:
    (kernel,) = checked.kernels
    return kernel.kernel


@pytest.mark.parametrize("gpu", GPUS)
def test_correct_code_is_checked_and_has_no_finding(gpu: str) -> None:
    checked = check(gpu, f"{START}{LOAD}ARRIVED\n{CALL}v_mov_b32 v3, v1\n{CALL}{END}{DOUBLE}{LIMIT}")
    assert checked.unknown == ()
    assert [one for one in found(checked) if one[1] != "info"] == []


@pytest.mark.parametrize("gpu", GPUS)
def test_a_result_that_a_subroutine_reads_too_early_is_found_in_it(gpu: str) -> None:
    checked = check(gpu, f"{START}{LOAD}{CALL}ARRIVED\n{END}{DOUBLE}{LIMIT}")
    load = spelled(gpu, "LOAD")
    assert waits(checked) == [("raw", load, "v_add_f32"), ("raw", load, "v_max_f32")]
    (first, _) = checked.kernels[0].wait_violations
    assert [one.statement.name for one in first.path][:2] == [load, "s_swappc_b64"]


@pytest.mark.parametrize("gpu", GPUS)
def test_a_result_in_flight_over_a_call_that_does_not_need_it_is_followed_behind_it(gpu: str) -> None:
    early = check(
        gpu, f"{START}v_mov_b32 v1, 1.0\nLOAD v3, v0, s[10:11]\n{CALL}v_add_f32 v1, v1, v3\n{END}{DOUBLE}{LIMIT}"
    )
    assert [one[0] for one in waits(early)] == ["raw"]
    body = f"{START}v_mov_b32 v1, 1.0\nLOAD v3, v0, s[10:11]\n{CALL}ARRIVED\nv_add_f32 v1, v1, v3\n{END}{DOUBLE}{LIMIT}"
    assert waits(check(gpu, body)) == []


@pytest.mark.parametrize("gpu", GPUS)
def test_what_a_subroutine_leaves_in_flight_or_waits_for_is_known_behind_it(gpu: str) -> None:
    loads = "double:\nLOAD v1, v0, s[10:11]\ns_setpc_b64 s[8:9]\n"
    assert [
        one[0] for one in waits(check(gpu, f"{START}v_mov_b32 v1, 1.0\n{CALL}v_mov_b32 v3, v1\n{END}{loads}{LIMIT}"))
    ]
    assert waits(check(gpu, f"{START}v_mov_b32 v1, 1.0\n{CALL}ARRIVED\nv_mov_b32 v3, v1\n{END}{loads}{LIMIT}")) == []
    both = "double:\nARRIVED\ns_setpc_b64 s[8:9]\nlimit:\nARRIVED\nv_max_f32 v1, 0, v1\ns_setpc_b64 s[8:9]\n"
    assert waits(check(gpu, f"{START}{LOAD}{CALL}v_mov_b32 v3, v1\n{END}{both}")) == []
    one = both.replace("double:\nARRIVED", "double:\ns_nop 0")
    assert waits(check(gpu, f"{START}{LOAD}{CALL}v_mov_b32 v3, v1\n{END}{one}")) != []


@pytest.mark.parametrize("gpu", GPUS)
def test_two_calls_are_not_mixed_up(gpu: str) -> None:
    """What is in flight at the first call has arrived at the second one, and never comes out behind it."""
    body = f"{START}v_mov_b32 v1, 1.0\nLOAD v3, v0, s[10:11]\n{CALL}ARRIVED\n{CALL}v_add_f32 v1, v1, v3\n{END}"
    assert waits(check(gpu, f"{body}{DOUBLE}{LIMIT}")) == []


@pytest.mark.parametrize("gpu", GPUS)
def test_a_fault_inside_a_subroutine_is_found(gpu: str) -> None:
    inside = "double:\nLOAD v2, v0, s[10:11]\nv_add_f32 v1, v1, v2\ns_setpc_b64 s[8:9]\n"
    checked = check(gpu, f"{START}v_mov_b32 v1, 1.0\n{CALL}{END}{inside}{LIMIT}")
    assert [one[0] for one in waits(checked)] == ["raw"]


def test_a_register_that_a_subroutine_reads_and_nothing_has_written_is_found() -> None:
    unset = DOUBLE.replace("v_add_f32 v1, v1, v1", "v_add_f32 v1, v1, v6")
    checked = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}{END}{unset}{LIMIT}")
    assert ("reg.undefined", "error") in found(checked)
    behind = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}v_mov_b32 v1, v6\n{END}{DOUBLE}{LIMIT}")
    assert ("reg.undefined", "error") in found(behind)
    given = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}v_add_f32 v1, v1, v2\n{END}{DOUBLE}{LIMIT}")
    assert "reg.undefined" not in [rule for rule, _ in found(given)]


def test_hazards_lead_into_and_out_of_subroutines() -> None:
    reads = "double:\nv_mov_b32_dpp v1, v5 row_shr:1\ns_setpc_b64 s[8:9]\n"
    into = check("gfx942", f"{START}{LOAD}ARRIVED\nv_mov_b32_e32 v5, v1\n{CALL}{END}{LIMIT}{reads}")
    assert ("haz.dpp.vgpr_write", "warning") in found(into)
    writes = "double:\nv_add_f32 v5, v1, v1\ns_setpc_b64 s[8:9]\n"
    out_of = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}v_mov_b32_dpp v1, v5 row_shr:1\n{END}{LIMIT}{writes}")
    assert ("haz.dpp.vgpr_write", "warning") in found(out_of)
    far = "s_nop 1\nv_mov_b32_dpp v1, v5 row_shr:1\n"
    apart = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}{far}{END}{LIMIT}{writes}")
    assert "haz.dpp.vgpr_write" not in [rule for rule, _ in found(apart)]


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(
    ("changed", "to"),
    [
        (address("limit"), "SCALAR s[4:5], s[0:1], 0x10\nKERNARG\n"),
        (address("limit"), "s_nop 0\n"),
        (CALL, "s_swappc_b64 s[8:9], s[14:15]\n"),
        (DOUBLE, DOUBLE.replace("v_add_f32 v1, v1, v1", "s_add_u32 s8, s8, 4")),
        (DOUBLE, f"double:\n{address('double').replace('s[4:5]', 's[14:15]').replace('s4', 's14').replace('s5', 's15')}"
                 "s_swappc_b64 s[16:17], s[14:15]\ns_setpc_b64 s[8:9]\n"),
    ],
    ids=["memory", "no definition", "another register", "return address", "recursion"],
)  # fmt: skip
def test_what_is_not_followed_is_not_checked(gpu: str, changed: str, to: str) -> None:
    body = f"{START}{LOAD}ARRIVED\n{CALL}{END}{DOUBLE}{LIMIT}"
    assert check(gpu, body).unknown == ()
    assert changed in body
    assert check(gpu, body.replace(changed, to)).unknown != ()


def test_one_call_that_is_not_known_beside_others_that_are_is_not_checked() -> None:
    other = "SCALAR s[16:17], s[0:1], 0x10\nKERNARG\ns_swappc_b64 s[8:9], s[16:17]\n"
    (unknown,) = check("gfx942", f"{START}{LOAD}ARRIVED\n{CALL}{other}{END}{DOUBLE}{LIMIT}").unknown
    assert "the target of this call is not known, and the function has subroutines" in unknown.reason


def test_a_call_reads_what_its_subroutines_read_first() -> None:
    kernel = only(
        check("gfx942", f"{START}{LOAD}ARRIVED\nv_mov_b32 v2, 0\n{CALL}v_mov_b32 v3, v1\n{END}{DOUBLE}{LIMIT}")
    )
    live = live_registers(kernel)
    call = next(block.end - 1 for block in kernel.blocks if block.entries)
    assert live.exact
    assert live.before[call] >> (VGPR.start + 1) & 1
    assert not live.before[call] >> (VGPR.start + 2) & 1, "each subroutine writes v2 before it reads it, or does not"
    inside = kernel.labels["limit"]
    assert live.before[inside] >> VGPR.start & 1, "the store behind the call needs v0"
    assert live.before[inside] >> (SGPR.start + 8) & 1


def test_a_call_counts_with_its_longest_subroutine() -> None:
    body = f"{START}{LOAD}ARRIVED\n{CALL}{END}"
    short = kernel_cost(only(check("gfx942", f"{body}{DOUBLE}{LIMIT}")), 1)
    long = kernel_cost(
        only(
            check(
                "gfx942",
                f"{body}{DOUBLE}{LIMIT.replace('v_mov_b32 v2, 1.0', 'v_mov_b32 v2, 1.0' + chr(10) + 's_nop 7')}",
            )
        ),
        1,
    )
    assert long.instructions == short.instructions + 1
    assert (short.unreached, long.unreached) == ((), ())
    assert any("longest of the subroutines" in text for text in short.assumptions)


_MOVES = ("LOAD v1, v0, s[10:11]\n", "v_mov_b32 v1, 2.0\n")
"""A pair of ways to give a subroutine its operand: only the first one needs a wait."""


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(
    "read", ["v_add_f32 v1, v1, v1", "v_mov_b32 v3, v1", "v_mul_f32 v1, 2.0, v1", "v_xor_b32 v4, 1, v1"]
)
@pytest.mark.parametrize("depth", [0, 3])
def test_without_the_wait_each_read_in_a_subroutine_is_reported(gpu: str, read: str, depth: int) -> None:
    subroutine = "double:\n" + "v_mov_b32 v5, 0\n" * depth + f"{read}\ns_setpc_b64 s[8:9]\n"
    loaded, moved = (f"{START}{move}{{wait}}{CALL}{END}{subroutine}{LIMIT}" for move in _MOVES)
    assert waits(check(gpu, moved.format(wait=""))) == []
    assert waits(check(gpu, loaded.format(wait="ARRIVED\n"))) == []
    assert ("raw", read.split()[0]) in [(access, name) for access, _, name in waits(check(gpu, loaded.format(wait="")))]


def test_no_advice_is_given_on_waits_behind_a_subroutine_that_is_not_understood() -> None:
    body = f"{START}v_mov_b32 v1, 1.0\n{CALL}ARRIVED\n{END}{LIMIT}double:\n{{inside}}\ns_setpc_b64 s[8:9]\n"
    (known,) = check("gfx942", body.format(inside="s_nop 0")).kernels
    assert [one.nothing_pending for one in known.too_strong_waits] == [True]
    (unknown,) = check("gfx942", body.format(inside="s_waitcnt SOMETHING")).kernels
    assert unknown.too_strong_waits == ()


def test_code_that_ends_the_wave_behind_a_call_that_is_not_known_is_not_checked() -> None:
    ends = "double:\nSTORE v0, v1, s[10:11]\ns_endpgm\n"
    assert check("gfx942", f"{address('double')}{CALL}s_endpgm\n{ends}").unknown == ()
    (unknown,) = check("gfx942", f"{address('double')}s_lshl_b32 s4, s4, 0\n{CALL}s_endpgm\n{ends}").unknown
    assert "reached by calls" in unknown.reason
