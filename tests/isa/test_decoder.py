"""What an instruction text reads and writes."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op, Role
from asmevo_gate.isa.registers import set_name
from asmevo_gate.isa.targets import find_target


def decoded(target: str, text: str, wave_size: int | None = None) -> Decoded:
    gpu = find_target(target)
    result = isa_for(gpu, wave_size or gpu.wave_sizes[0]).decode(text)
    assert isinstance(result, Decoded), result
    return result


def refused(target: str, text: str) -> NotDecoded:
    gpu = find_target(target)
    result = isa_for(gpu, gpu.wave_sizes[0]).decode(text)
    assert isinstance(result, NotDecoded), result
    return result


@pytest.mark.parametrize(
    ("target", "text", "reads", "writes"),
    [
        ("gfx942", "v_add_f32 v0, v1, v2", "v[1:2], exec, mode", "v0"),
        ("gfx1030", "v_add_f32 v0, s1, -|v2|", "v2, s1, exec_lo, mode", "v0"),
        ("gfx942", "global_load_dwordx4 v[4:7], v[0:1], off offset:16", "v[0:1], exec", "v[4:7]"),
        ("gfx90a", "global_store_dwordx2 v[0:1], v[4:5], off", "v[0:1], v[4:5], exec", "none"),
        (
            "gfx942",
            "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
            "v[0:3], a[0:15], exec, mode",
            "a[0:15]",
        ),
        ("gfx1100", "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo", "v[1:2], vcc_lo, exec_lo", "v0, vcc_lo"),
        ("gfx942", "s_cbranch_scc0 .LBB0_1", "scc", "none"),
        ("gfx90a", "ds_read_b64 v[0:1], v2 offset:8", "v2, exec", "v[0:1]"),
    ],
)
def test_reads_and_writes(target: str, text: str, reads: str, writes: str) -> None:
    instruction = decoded(target, text)
    assert set_name(instruction.reads) == reads
    assert set_name(instruction.writes) == writes


def test_a_preserving_sdwa_write_keeps_and_reads_its_destination() -> None:
    instruction = decoded(
        "gfx906", "v_cvt_f32_f16_sdwa v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1"
    )
    assert set_name(instruction.keeps) == "v1"
    assert set_name(instruction.reads & ~instruction.implicit_reads) == "v[1:2]"
    assert instruction.operands[0].role == Role.WRITE | Role.KEEP


def test_an_instruction_of_other_targets_says_which_have_it() -> None:
    answer = refused("gfx942", "v_mac_f32 v0, v1, v2")
    assert answer.kind == "not_on_target"
    assert "gfx90a" in answer.available_on
    assert "gfx942" not in answer.available_on


def test_an_unknown_mnemonic_is_told_from_a_missing_form() -> None:
    assert refused("gfx942", "v_frobnicate_f32 v0, v1").kind == "unknown_mnemonic"
    assert refused("gfx942", "v_add_f32 v0").kind == "no_form"


def test_a_symbolic_register_index_is_reported_as_such() -> None:
    assert refused("gfx942", "v_mov_b32 v[base+1], v0").kind == "symbolic"


def test_a_text_is_decoded_once() -> None:
    isa = isa_for(find_target("gfx942"), 64)
    assert isa.decode("v_mov_b32 v1, v2") is isa.decode("v_mov_b32 v1, v2")


def test_both_halves_of_a_dual_issue_instruction_are_there() -> None:
    instruction = decoded("gfx1100", "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5")
    assert instruction.of(Op.VOPD)
    assert [half.mnemonic for half in instruction.halves] == ["v_dual_add_f32", "v_dual_mul_f32"]
    assert set_name(instruction.writes) == "v0, v3"
