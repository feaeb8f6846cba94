"""Instruction texts taken apart: the short way for plain instructions says what the long way says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo_gate.isa.operand_text import _plain_tokens, _tokens

OPERANDS = (
    "v0", "v255", "s12", "a16", "v[4:7]", "a[0:15]", "s[0:1]", "vcc", "off", "0", "-1", "64", "0x10", "1.0", "v[4]",
    "v[a:b]",
    "vcc_lo", "exec", "m0", "null", "-v1", "|v1|", "neg(v1)", "v1.l", "[v1, v2]", "ttmp3", "acc0", "v 1", "label", "",
    ".L1", ".LBB0_2", ".Lend+4", ".x",
)  # fmt: skip
ENDS = ("", " offset:16", " offset:-16", " offset:0x10", " offset: 8", " glc", " offset:4 glc", " a16", ", offset:4")
plain_or_not = st.tuples(
    st.sampled_from(("v_add_f32", "exp", "image_load", "global_load_dword", "s_add_u32", "s_branch", "S_NOP")),
    st.sampled_from((" ", "  ", "\t", "")),
    st.lists(st.sampled_from(OPERANDS), min_size=1, max_size=5),
    st.sampled_from((", ", ",", " ,", "  ", ",  ")),
    st.sampled_from(ENDS),
)


@given(plain_or_not)
def test_the_short_way_says_what_the_long_way_says(parts: tuple[str, str, list[str], str, str]) -> None:
    mnemonic, blank, operands, between, end = parts
    text = mnemonic + blank + between.join(operands) + end
    if (short := _plain_tokens(text)) is not None:
        assert short == _tokens(text)


@pytest.mark.parametrize(
    "rest",
    [
        "v0, v1, v2",
        "a[0:15], v[64:65], v[66:67], a[0:15]",
        "v[0:3], v192 offset:16",
        "s8, s11,-1",
        "v0, v[2:3], off",
        "a16",
        ".LBB0_1",
    ],
)
def test_plain_instructions_go_the_short_way(rest: str) -> None:
    assert _plain_tokens(f"v_add_f32 {rest}") == _tokens(f"v_add_f32 {rest}")
    assert _plain_tokens(f"v_add_f32 {rest}") is not None


@pytest.mark.parametrize("rest", ["v0, v1 glc", "v0 v1", "v0, -v1", "v0, 1.0", "v0,", "v0, v1 offset:-4", "v[a:b]"])
def test_the_rest_goes_the_long_way(rest: str) -> None:
    assert _plain_tokens(f"v_add_f32 {rest}") is None
