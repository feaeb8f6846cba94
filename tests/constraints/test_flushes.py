"""Instructions that make a sequence forget everything when enough of them stand in a row."""

from __future__ import annotations

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.reference import violations
from tests.constraints.programs import kernel

_READ, _WRITE, _AGAIN = "v_mov_b32 v0, s4\n", "s_mov_b32 s5, 0\n", "v_mov_b32 v1, s5\ns_endpgm"


def is_reported(text: str, wave_size: int) -> bool:
    function = kernel("gfx1200", text, wave_size)
    return any(
        one.edge_id.startswith("haz.gfx12.valu_read_sgpr") for one in violations(function, graph_for(function.target))
    )


@pytest.mark.parametrize(("wave_size", "enough"), [(32, 4), (64, 8)])
def test_enough_ds_nop_in_a_row_empty_the_operand_cache(wave_size: int, enough: int) -> None:
    for first, second in ((enough, 0), (0, enough), (enough + 3, 0)):
        text = _READ + "ds_nop\n" * first + _WRITE + "ds_nop\n" * second + _AGAIN
        assert not is_reported(text, wave_size)
    assert is_reported(_READ + "ds_nop\n" * (enough - 1) + _WRITE + _AGAIN, wave_size)


@pytest.mark.parametrize("between", ["s_nop 0\n", "s_cbranch_scc0 .Lnext\n.Lnext:\n"])
def test_a_run_that_something_interrupts_is_none(between: str) -> None:
    assert is_reported(_READ + "ds_nop\n" * 2 + between + "ds_nop\n" * 2 + _WRITE + _AGAIN, 32)
