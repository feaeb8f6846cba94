"""The registers of A and B follow from the number format that a modifier chooses."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import find_target

_MFMA = "v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[16:{a}], v[32:{b}], a[0:3]"
_SCALED = "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[16:{a}], v[32:{b}], a[0:3], v1, v2"
_WMMA = "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[16:{a}], v[32:{b}], v[0:7]"


def accepted(gpu: str, text: str) -> bool:
    target = find_target(gpu)
    return isinstance(isa_for(target, target.wave_sizes[0]).decode(text), Decoded)


@pytest.mark.parametrize("form", [_MFMA, _SCALED])
@pytest.mark.parametrize(
    ("a", "b", "modifiers"),
    [(23, 39, ""), (19, 35, " cbsz:4 blgp:4"), (21, 39, " cbsz:2"), (23, 37, " cbsz:1 blgp:3"), (19, 39, " cbsz:4")],
)
def test_mfma_widths_follow_cbsz_and_blgp(form: str, a: int, b: int, modifiers: str) -> None:
    assert accepted("gfx950", form.format(a=a, b=b) + modifiers)


def test_other_widths_are_refused() -> None:
    assert not accepted("gfx950", _MFMA.format(a=23, b=35) + " cbsz:4 blgp:4")
    assert not accepted("gfx950", _MFMA.format(a=19, b=39))


def test_wmma_widths_follow_the_named_formats() -> None:
    assert accepted("gfx1250", _WMMA.format(a=31, b=47))
    named = " matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_BF6"
    assert accepted("gfx1250", _WMMA.format(a=23, b=43) + named)
    assert not accepted("gfx1250", _WMMA.format(a=31, b=47) + named)
