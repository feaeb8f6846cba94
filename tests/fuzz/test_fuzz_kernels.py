"""No assembly file makes a whole check crash: it has a result, or the error says what is wrong."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError
from asmevo_gate.gate.file_check import check_text
from asmevo_gate.gate.suppressions import apply_suppressions, read_suppressions
from asmevo_gate.isa.targets import find_target
from asmevo_gate.source.options import SourceLimits, SourceOptions
from tests.fuzz.mutation import damaged_text
from tests.program.code_objects import KERNEL

_OPTIONS = SourceOptions(
    limits=msgspec.structs.replace(SourceLimits(), statements=5_000, expanded_characters=500_000, seconds=10)
)
_TARGETS = ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1200")
_LINES = (
    *("s_branch k", "s_cbranch_execz done", "s_setpc_b64 s[30:31]", "s_swappc_b64 s[30:31], s[4:5]", "s_endpgm"),
    *("s_getpc_b64 s[4:5]", "s_add_u32 s4, s4, k@rel32@lo+4", "s_addc_u32 s5, s5, k@rel32@hi+12", "k:", "1:", "1b"),
    *(
        "s_waitcnt 0",
        "s_waitcnt vmcnt(99999999999)",
        "s_nop 99999999999",
        "s_sleep -1",
        "s_setreg_b32 hwreg(9999999999), s0",
    ),
    *(
        "s_getreg_b32 s0, hwreg(²)",
        "s_getreg_b32 s0, hwreg(09, 0, 32)",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 99), 1",
    ),
    *(
        "ds_read_b32 v1, v0 offset:99999999999",
        "v_mov_b32_dpp v0, v1 quad_perm:[²,1]",
        "v_mov_b32_dpp v0, v1 row_shr:99",
    ),
    *(
        "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]",
        "v_readlane_b32 s0, v0, 999",
        "s_and_saveexec_b64 s[0:1], vcc",
    ),
    *(
        "s_or_b64 exec, exec, s[0:1]",
        "s_barrier",
        "s_sendmsg 9999",
        "s_delay_alu 0xffff",
        "s_clause 0xff",
        "s_set_gpr_idx_on s0, 1",
    ),
    *(
        ".p2align -1",
        ".p2align 99999999999",
        ".balign 0",
        ".balign -8",
        ".p2align 1, 2, 3",
        ".skip -1",
        ".long -1",
        ".byte 300",
    ),
    *(
        ".quad 0xbf810000bf810000",
        ".fill 9, 4, 0",
        ".size k, -1",
        ".amdhsa_next_free_vgpr 99999",
        ".amdhsa_accum_offset 0",
    ),
    *(
        ".amdhsa_group_segment_fixed_size -1",
        ".amdhsa_wavefront_size32 1",
        ".vgpr_count: -1",
        ".args: [1, {.size: -1}]",
    ),
    *(
        ".wavefront_size: 0",
        ".wavefront_size: 31",
        ".max_flat_workgroup_size: -9",
        ".reqd_workgroup_size: [0, x]",
        ".set x, 1/0",
    ),
    *(
        ".args: {a: b}",
        ".sgpr_count: x",
        ".kernarg_segment_align: 3",
        "amdhsa.kernels: 3",
        ".long 0xc0000000, 0x0",
        ".text",
    ),
    *(
        "; asmevo: ignore[wait.raw] because",
        "; asmevo: ignore",
        "# asmevo: ignore[,,",
        '.amdgcn_target "amdgcn-x"',
        ".section x",
    ),
)


@cache
def _kernels() -> tuple[str, ...]:
    examples = Path(__file__).parents[2] / "examples" / "kernels"
    return (KERNEL, *(place.read_text() for place in sorted(examples.glob("*.s"))))


def _check(text: str, gpu: str) -> None:
    try:
        found = check_text("fuzz.s", text, find_target(gpu), _OPTIONS)
    except GateError as error:
        assert error.message
        return
    assert 0 <= found.modelled <= found.instructions
    for one in found.violations:
        assert one.violation.message
        assert one.violation.place.line >= 1


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_kernel_has_a_result_or_an_error(data: st.DataObject) -> None:
    text = data.draw(damaged_text(data.draw(st.sampled_from(_kernels()))))
    _check(text, data.draw(st.sampled_from(_TARGETS)))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(_LINES)), min_size=1, max_size=5), st.sampled_from(_TARGETS)
)
def test_lines_put_into_a_kernel_have_a_result_or_an_error(additions: list[tuple[int, str]], gpu: str) -> None:
    lines = KERNEL.splitlines()
    for place, line in additions:
        lines.insert(min(place, len(lines)), f"    {line}")
    _check("\n".join(lines) + "\n", gpu)


@pytest.mark.parametrize("line", _LINES)
def test_one_strange_line_has_a_result_or_an_error(line: str) -> None:
    for before in ("  v_add_u32_e32 v0, 1, v1", ".end_amdhsa_kernel", "    .vgpr_count: 20"):
        _check(KERNEL.replace(before, f"    {line}\n{before}"), "gfx90a")


_COMMENTS = (
    "; asmevo: ignore[wait.raw] because it is so",
    "/* asmevo: ignore[a,b] c */ s_nop 0",
    "// asmevo:ignore",
    "x\n",
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(_COMMENTS).flatmap(damaged_text), max_size=6).map("\n".join))
def test_damaged_suppressions_are_read_or_complained_of(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()  # no file has lone surrogates
    found = read_suppressions(text)
    assert len(apply_suppressions("fuzz.s", (), found)) == len(found)
    assert all(1 <= one.line <= len(text.splitlines()) for one in found)
