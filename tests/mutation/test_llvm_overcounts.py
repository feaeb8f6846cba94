"""LLVM 22 itself shows the shortcuts by which the mutation harness explains what LLVM inserts too much.

Each pair differs in one instruction that takes no part in the hazard (another of the same wait state stands in its
place); LLVM's count differs all the same.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.oracles.generated_kernels import COMPILER, compiler_version

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler_version() is None, reason="llc-22 is not installed"),
]


def _inserted(gpu: str, *blocks: str) -> list[int]:
    """Wait states that the hazard recogniser puts before each instruction marked by ``S_SLEEP`` behind it."""
    body = "\n".join(f"  bb.{number}:\n{block}" for number, block in enumerate(blocks))
    text = f"---\nname: k\ntracksRegLiveness: false\nbody: |\n{body}\n    S_ENDPGM 0\n...\n"
    command = [COMPILER, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-run-pass=post-RA-hazard-rec", "-x=mir"]
    result = subprocess.run([*command, "-o", "-", "-"], input=text, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    states: list[int] = []
    pending = last = 0
    for line in result.stdout.splitlines():
        nop = re.match(r"\s+S_NOP (\d+)", line)
        if nop:
            pending += int(nop[1]) + 1
        elif "S_SLEEP" in line:
            states.append(last)
        elif line.startswith("    "):
            last, pending = pending, 0
    return states


_MFMA4 = """    $agpr0_agpr1_agpr2_agpr3 = V_MFMA_F32_4X4X4F16_e64 $vgpr0_vgpr1, $vgpr0_vgpr1, $agpr8_agpr9_agpr10_agpr11, 0, 0, 0, implicit $mode, implicit $exec
"""  # noqa: E501
_MFMA16 = """    $agpr20_agpr21_agpr22_agpr23 = V_MFMA_F32_16X16X16F16_e64 $vgpr0_vgpr1, $vgpr0_vgpr1, $agpr24_agpr25_agpr26_agpr27, 0, 0, 0, implicit $mode, implicit $exec
"""  # noqa: E501
_READ = """    $vgpr9 = V_ACCVGPR_READ_B32_e64 $agpr3, implicit $exec
    S_SLEEP 0
"""
_ONE_STATE = "    S_INCPERFLEVEL 1\n"


def test_on_gfx908_the_largest_latency_of_all_matrix_instructions_counts() -> None:
    assert _inserted("gfx908", _MFMA4 + _MFMA16 + _READ) == [9]
    assert _inserted("gfx908", _MFMA4 + _ONE_STATE + _READ) == [3]


def test_over_several_paths_the_matrix_instruction_seen_last_counts() -> None:
    use = """    $agpr4_agpr5_agpr6_agpr7 = V_MFMA_F32_4X4X4F16_e64 $vgpr0_vgpr1, $vgpr0_vgpr1, $agpr0_agpr1_agpr2_agpr3, 0, 0, 0, implicit $mode, implicit $exec
    S_SLEEP 0
"""  # noqa: E501
    head = "    successors: %bb.1, %bb.2\n" + _MFMA4 + "    S_CBRANCH_SCC1 %bb.2, implicit $scc\n"
    assert _inserted("gfx90a", head, "    successors: %bb.2\n" + _MFMA16 + _ONE_STATE * 12, use) == [7]
    assert _inserted("gfx90a", head, "    successors: %bb.2\n" + _ONE_STATE * 13, use) == [0]


def test_around_a_loop_wait_states_inserted_later_do_not_count() -> None:
    produce = _MFMA4.replace("$agpr8_agpr9_agpr10_agpr11", "$agpr0_agpr1_agpr2_agpr3")
    write = "    $agpr3 = V_ACCVGPR_WRITE_B32_e64 $vgpr5, implicit $exec\n    S_SLEEP 0\n"
    loop = "    successors: %bb.1, %bb.2\n" + write + produce
    back = "    $vgpr9 = V_ACCVGPR_READ_B32_e64 $agpr2, implicit $exec\n    S_CBRANCH_SCC1 %bb.1, implicit $scc\n"
    entry = "    successors: %bb.1\n" + _ONE_STATE
    needed = 5
    passed_before_insertion = 2
    assert _inserted("gfx90a", entry, loop + back, "") == [needed - passed_before_insertion]
    enough = "    S_NOP 4\n" + back
    assert _inserted("gfx90a", entry, loop + enough, "") == [0]


def test_a_spill_of_an_sgpr_pair_looks_like_a_write_of_it() -> None:
    first = "    $vgpr1 = V_WRITELANE_B32 $sgpr4, 0, $vgpr1, {}implicit $sgpr4_sgpr5\n"
    second = "    $vgpr1 = V_WRITELANE_B32 $sgpr5, 1, $vgpr1, implicit $sgpr4_sgpr5\n    S_SLEEP 0\n"
    assert _inserted("gfx942", first.format("implicit-def $sgpr4_sgpr5, ") + second) == [2]
    assert _inserted("gfx942", first.format("") + second) == [0]


def test_a_spill_of_a_tuple_looks_like_a_write_of_the_spilled_registers() -> None:
    first = "    $agpr4 = V_ACCVGPR_WRITE_B32_e64 $vgpr4, implicit $exec{}\n"
    second = "    $agpr5 = V_ACCVGPR_WRITE_B32_e64 $vgpr5, implicit $exec\n    S_SLEEP 0\n"
    assert _inserted("gfx908", first.format(", implicit-def $vgpr4_vgpr5") + second) == [2]
    assert _inserted("gfx908", first.format("") + second) == [0]


def test_a_load_counts_as_a_valu_write_before_dpp() -> None:
    move = "    $vgpr1 = V_MOV_B32_dpp $vgpr1, $vgpr0, 273, 15, 15, 0, implicit $exec\n    S_SLEEP 0\n"
    load = "    $vgpr0 = GLOBAL_LOAD_DWORD $vgpr2_vgpr3, 0, 0, implicit $exec\n    S_WAITCNT 3952\n"
    assert _inserted("gfx90a", load + move) == [1]
    assert _inserted("gfx90a", load.replace("$vgpr0 =", "$vgpr9 =") + move) == [0]


def test_the_default_op_sel_hi_of_a_packed_instruction_looks_like_a_shifted_destination() -> None:
    packed = (
        "    $vgpr0 = nofpexcept V_PK_ADD_F16 8, $vgpr1, 8, $vgpr2, 0, 0, 0, 0, 0, implicit $mode, implicit $exec\n"
    )
    read = "    $vgpr3 = V_MOV_B32_e32 {}, implicit $exec\n    S_SLEEP 0\n"
    assert _inserted("gfx942", packed + read.format("$vgpr0")) == [1]
    assert _inserted("gfx942", packed + read.format("$vgpr9")) == [0]
    assert _inserted("gfx90a", packed + read.format("$vgpr0")) == [0]


def test_a_carry_in_counts_as_a_constant() -> None:
    write = "    $sgpr4_sgpr5 = V_CMP_EQ_U32_e64 $vgpr0, $vgpr1, implicit $exec\n"
    add = "    $vgpr3, $sgpr6_sgpr7 = V_ADDC_U32_e64 $vgpr4, $vgpr5, killed ${}, 0, implicit $exec\n    S_SLEEP 0\n"
    assert _inserted("gfx942", write + add.format("sgpr4_sgpr5")) == [2]
    assert _inserted("gfx942", write + add.format("sgpr8_sgpr9")) == [0]


def test_a_lane_mask_is_waited_for_without_a_reader() -> None:
    text = """---
name: k
tracksRegLiveness: false
body: |
  bb.0:
    $vgpr0 = V_CNDMASK_B32_e64 0, $vgpr1, 0, $vgpr2, $sgpr4_sgpr5, implicit $exec
    $sgpr4 = S_MOV_B32 0
    S_ENDPGM 0
...
"""
    command = [COMPILER, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-mattr=+wavefrontsize64"]
    result = subprocess.run(
        [*command, "-run-pass=post-RA-hazard-rec", "-x=mir", "-o", "-", "-"],
        input=text, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "S_WAITCNT_DEPCTR" in result.stdout, result.stderr
