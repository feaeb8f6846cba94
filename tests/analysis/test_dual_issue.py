"""Each half of a VOPD depends on its own sources only."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.divergence import divergent_branches
from asmevo_gate.analysis.pointer_arguments import argument_accesses
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.parser import parse_source
from tests.analysis.written_functions import kernel

_BRANCH = "v_cmp_gt_u32 vcc_lo, 9, {0}\ns_cbranch_vccnz .Lend\ns_nop 0\n.Lend:\ns_endpgm"


@pytest.mark.parametrize(
    ("text", "register", "expected"),
    [
        ("v_dual_mov_b32 v1, s2 :: v_dual_lshlrev_b32 v4, 2, v0", "v1", 0),
        ("v_dual_mov_b32 v1, s2 :: v_dual_lshlrev_b32 v4, 2, v0", "v4", 1),
        ("v_dual_mov_b32 v1, v0 :: v_dual_mov_b32 v0, s3", "v1", 1),
        ("v_dual_mov_b32 v1, v0 :: v_dual_mov_b32 v0, s3", "v0", 0),
        ("v_dual_mov_b32 v0, s3 :: v_dual_mov_b32 v1, v0", "v1", 1),
        ("v_dual_fmac_f32 v0, s2, v7 :: v_dual_mov_b32 v1, s2", "v0", 1),
    ],
)
def test_only_the_half_that_reads_a_work_item_id_depends_on_it(text: str, register: str, expected: int) -> None:
    assert len(divergent_branches(kernel("gfx1250", text + "\n" + _BRANCH.format(register)))) == expected


def test_a_pointer_goes_into_the_half_that_reads_it() -> None:
    text = """.text
k:
s_load_b64 s[4:5], s[0:1], 0x0
s_wait_kmcnt 0x0
v_dual_mov_b32 v2, s4 :: v_dual_mov_b32 v7, s8
v_dual_mov_b32 v3, s5 :: v_dual_mov_b32 v6, s9
global_store_b32 v[{0}], v9, off
s_endpgm
.rodata
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_next_free_vgpr 16
.amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
"""
    found = []
    for registers in ("2:3", "6:7"):
        program = build_program(parse_source("k.s", text.format(registers)), find_target("gfx1250"))
        found.append([access.offset for access in argument_accesses(program.functions[0])])
    assert found == [[0], []]
