"""No instruction text makes the decoder crash or hang: it is decoded, or not, with a reason."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.operand_text import slot
from asmevo_gate.isa.targets import find_target
from tests.fuzz.mutation import damaged_text

_LINES = (
    "v_add_f32_e64 v0, -|v1|, neg(abs(v2)) clamp mul:2",
    "v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf bound_ctrl:0",
    "v_add_f32_sdwa v0, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
    "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0]",
    "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3] cbsz:1 abid:2 blgp:3",
    "s_waitcnt vmcnt(0) & lgkmcnt(1)",
    "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 32)",
    "s_sendmsg sendmsg(MSG_INTERRUPT)",
    "buffer_load_dword v1, v0, s[0:3], 0 idxen offset:4095 glc slc",
    "global_load_dwordx4 v[0:3], v[4:5], s[2+2:5] offset:-16",
    "image_sample v[0:3], [v4, v6], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D",
    "ds_write2_b32 v0, v1, v2 offset0:1 offset1:255",
    "v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v1, v3, v4",
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
    "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)",
    "exp mrt0 v0, v1, v2, v3 done vm",
    "v_cmp_eq_u32_e32 vcc, s0, v1",
    "s_mov_b64 exec, 0x1234567812345678",
)
_ISAS = tuple(
    isa_for(find_target(name), size)
    for name, size in (
        ("gfx906", 64),
        ("gfx90a", 64),
        ("gfx942", 64),
        ("gfx1030", 32),
        ("gfx1100", 32),
        ("gfx1200", 32),
    )
)


def _decodes(text: str) -> None:
    for isa in _ISAS:
        found = isa.decode(text)
        assert found.text == text
        if isinstance(found, NotDecoded):
            assert found.reason
        else:
            assert isinstance(found, Decoded)
            assert found.keeps & ~found.writes == 0
            assert found.size > 0


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_instructions_are_decoded_or_not_with_a_reason(data: st.DataObject) -> None:
    _decodes(data.draw(damaged_text(data.draw(st.sampled_from(_LINES)))))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_decoded_or_not_with_a_reason(text: str) -> None:
    _decodes(text)


@pytest.mark.parametrize("number", ["²", "٣", "0²", "0٣", "-²", "1٣", "9" * 5000, "0" + "7" * 5000, "-" + "9" * 5000])
@pytest.mark.parametrize("text", ["{}", "v{}", "v[{}]", "v[0:{}]", "s[{}:4]", "[v{}, v1]", "{}.5", "1e{}"])
def test_numbers_of_other_scripts_or_lengths_are_no_operands_that_crash(text: str, number: str) -> None:
    operand = text.format(number)
    assert slot(operand).value is None or number.isascii()
    for line in ("v_mov_b32 v0, {}", "s_nop {}", "s_waitcnt vmcnt({})", "ds_read_b32 v0, v1 offset:{}",
                 "v_mov_b32_dpp v0, v1 row_shr:{} row_mask:0xf", "s_getreg_b32 s0, hwreg({}, {}, {})",
                 "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[{},{},0]", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], {}",
                 "global_atomic_add v0, v1, v2, s[0:1] th:{}"):  # fmt: skip
        _decodes(line.replace("{}", operand))


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "(",
        "[a",
        "(a",
        "[[",
        "((",
        "|",
        "|a",
        "-",
        "neg(",
        "v0 ",
        "a:",
        "1+",
        ",",
        "-|",
        "[]",
        "()",
        ")(",
        "::",
        ": ",
    ],
)
def test_long_operands_take_time_by_their_length(piece: str) -> None:
    started = time.process_time()
    _ISAS[0].decode("v_mov_b32 v0, " + piece * (20_000 // len(piece)))
    assert time.process_time() - started < 2
